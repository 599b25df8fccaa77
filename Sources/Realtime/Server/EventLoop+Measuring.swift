import HTTP
import PusherProtocol
import Threads

/// Measures requests, until the last byte of each response is handed to the socket.
extension EventLoop {
    /// What is counted and logged of a request.
    struct MeasuredRequest {
        /// The index of the pattern of its path; see ``EventLoopDelegate/decide(on:_:)``.
        var endpoint = 0
        /// Nil if the request could not be read.
        var method: HTTPRequest.Method?
        /// When its last byte was read, in nanoseconds of the monotonic clock; nil if it has not been.
        var receivedAt: UInt64?
        /// The sender; nil if unknown.
        var actor: String?
        var correlationID = ""
    }

    /// A response that is written, but perhaps not yet handed to the socket.
    struct SentResponse {
        let socket: SocketID
        let request: MeasuredRequest
        let status: Int
        /// The size of the body.
        let bytes: Int
    }

    /// The status under which requests are counted whose client left before the response.
    private static let clientLeft = 499

    /// Measures the request until its response, which is in ``replies``, is sent.
    func measure(_ request: MeasuredRequest, _ status: Int, bytes: Int, _ slot: Int) {
        unsentResponses.append(
            SentResponse(socket: connections[slot].socket, request: request, status: status, bytes: bytes))
    }

    /// Counts a request that gets no response, because its connection has ended.
    func countAbandoned(_ request: MeasuredRequest, _ slot: Int) {
        count([SentResponse(socket: connections[slot].socket, request: request, status: Self.clientLeft, bytes: 0)])
    }

    /// Counts the requests whose responses this turn has sent. A response that waits in an outbox is counted later.
    func countSentResponses() {
        guard !unsentResponses.isEmpty else { return }
        var sent: [SentResponse] = []
        swap(&sent, &unsentResponses)
        if !outboxes.isEmpty {
            let end = sent.partition { connections.phase(of: $0.socket) != nil && outboxes.contains($0.socket.slot) }
            for response in sent[end...] { queuedResponses[response.socket.slot, default: []].append(response) }
            sent.removeSubrange(end...)
        }
        count(sent)
        sent.removeAll(keepingCapacity: true)
        swap(&sent, &unsentResponses)
    }

    /// Counts the requests whose responses waited in the outbox of a connection: it is empty now, or the connection ends.
    func countQueuedResponses(_ slot: Int) {
        guard !queuedResponses.isEmpty, let responses = queuedResponses.removeValue(forKey: slot) else { return }
        count(responses)
    }

    private func count(_ responses: [SentResponse]) {
        let now = Clock.monotonicNanoseconds()
        requestMetrics.add(responses, now: now)
        for response in responses {
            let request = response.request
            delegate.answered(
                AnsweredRequest(
                    method: request.method, endpoint: request.endpoint, status: response.status, bytes: response.bytes,
                    nanoseconds: request.receivedAt.map { now - min(now, $0) }, actor: request.actor,
                    correlationID: request.correlationID))
        }
    }
}
