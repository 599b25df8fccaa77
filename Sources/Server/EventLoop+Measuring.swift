import HTTP
import PusherProtocol
import Threads

/// Measures requests, until the last byte of each response is handed to the socket.
extension EventLoop {
    /// What is counted of a request.
    struct MeasuredRequest {
        /// The index of the pattern of its path; see ``EventLoopDelegate/decide(on:_:)``.
        var endpoint = 0
        /// Nil if the request could not be read.
        var method: HTTPRequest.Method?
        /// When its last byte was read, in nanoseconds of the monotonic clock.
        var receivedAt = Clock.monotonicNanoseconds()
    }

    /// A response that is written, but perhaps not yet handed to the socket.
    struct SentResponse {
        let socket: SocketID
        let request: MeasuredRequest
        let status: Int
    }

    /// The status under which requests are counted whose client left before the response.
    private static let clientLeft = 499

    /// Measures the request until its response, which is in ``replies``, is sent.
    func measure(_ request: MeasuredRequest, _ status: Int, _ slot: Int) {
        unsentResponses.append(SentResponse(socket: connections[slot].socket, request: request, status: status))
    }

    /// Counts a request that gets no response, because its connection has ended.
    func countAbandoned(_ request: MeasuredRequest, _ slot: Int) {
        count([SentResponse(socket: connections[slot].socket, request: request, status: Self.clientLeft)])
    }

    /// Counts the requests whose responses this turn has sent. A response that waits in an outbox is counted later.
    func countSentResponses() {
        guard !unsentResponses.isEmpty else { return }
        if !outboxes.isEmpty {
            for response in unsentResponses where waits(response) {
                queuedResponses[response.socket.slot, default: []].append(response)
            }
            unsentResponses.removeAll(where: waits)
        }
        count(unsentResponses)
        unsentResponses.removeAll(keepingCapacity: true)
    }

    private func waits(_ response: SentResponse) -> Bool {
        connections.phase(of: response.socket) != nil && outboxes[response.socket.slot] != nil
    }

    /// Counts the requests whose responses waited in the outbox of a connection: it is empty now, or the connection ends.
    func countQueuedResponses(_ slot: Int) {
        guard !queuedResponses.isEmpty, let responses = queuedResponses.removeValue(forKey: slot) else { return }
        count(responses)
    }

    private func count(_ responses: [SentResponse]) {
        metrics.add(responses.count, to: .httpRequests)
        requestMetrics.add(responses, now: Clock.monotonicNanoseconds())
    }

    /// What log lines say of a request without a response; nil if its connection has closed.
    package func pendingRequest(
        _ id: RequestID
    ) -> (method: HTTPRequest.Method?, endpoint: Int, nanoseconds: UInt64, correlationID: String)? {
        guard let pending = pendingResponses[id] else { return nil }
        let request = pending.measured
        return (
            request.method, request.endpoint, Clock.monotonicNanoseconds() - request.receivedAt, pending.correlationID
        )
    }
}
