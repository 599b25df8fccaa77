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
    struct UnsentResponse {
        let request: MeasuredRequest
        let status: Int
    }

    /// The status under which requests are counted whose client left before the response.
    private static let clientLeft = 499

    /// Measures the request until its response, which is in ``replies``, is sent.
    func measure(_ request: MeasuredRequest, _ status: Int, _ slot: Int) {
        unsentResponses.append((connections[slot].socket, UnsentResponse(request: request, status: status)))
    }

    /// Counts a request that gets no response, because its connection has ended.
    func countAbandoned(_ request: MeasuredRequest) { count([UnsentResponse(request: request, status: Self.clientLeft)]) }

    /// Counts the requests whose responses this turn has sent. A response that waits in an outbox is counted later.
    func countSentResponses() {
        guard !unsentResponses.isEmpty else { return }
        var sent: [UnsentResponse] = []
        sent.reserveCapacity(unsentResponses.count)
        for (socket, response) in unsentResponses {
            if connections.phase(of: socket) != nil, outboxes[socket.slot] != nil {
                queuedResponses[socket.slot, default: []].append(response)
            } else {
                sent.append(response)
            }
        }
        unsentResponses.removeAll(keepingCapacity: true)
        count(sent)
    }

    /// Counts the requests whose responses waited in the outbox of a connection: it is empty now, or the connection ends.
    func countQueuedResponses(_ slot: Int) {
        guard !queuedResponses.isEmpty, let responses = queuedResponses.removeValue(forKey: slot) else { return }
        count(responses)
    }

    private func count(_ responses: [UnsentResponse]) {
        let now = Clock.monotonicNanoseconds()
        metrics.add(responses.count, to: .httpRequests)
        requestMetrics.add(
            responses.map {
                AnsweredRequest(
                    endpoint: $0.request.endpoint, method: $0.request.method, status: $0.status,
                    nanoseconds: now - min(now, $0.request.receivedAt))
            }, now: now)
    }

    /// Nanoseconds since the last byte of a request was read; nil if it was responded to, or its connection has closed.
    package func nanosecondsSinceReceived(_ id: RequestID) -> UInt64? {
        pendingResponses[id].map { Clock.monotonicNanoseconds() - $0.measured.receivedAt }
    }
}
