import HTTP
import HTTP1
import Threads

/// The last response of an HTTP connection: refusals of requests that cannot be read, and the orderly end after them.
extension EventLoop {
    /// Responds to a request that cannot be read. The connection closes, because the request's end is unknown.
    func reject(_ error: RequestError, _ head: RequestHead, _ bytes: UnsafeRawBufferPointer, _ slot: Int) {
        countLimit(error)
        var head = head
        head.removePathPrefix(options.pathPrefix, from: bytes)
        let response = delegate.errorResponse(error.status, error.text, to: request(head, bytes, slot))
        respondLast(
            response, to: MeasuredRequest(correlationID: correlationIDs.next()), withoutBody: head.method == .head, on: slot)
    }

    func rejectBody(
        _ error: RequestError, _ head: RequestHead, _ id: RequestID, _ region: UnsafeMutableRawBufferPointer, _ slot: Int
    ) {
        countLimit(error)
        delegate.abandoned(id)
        pendingResponses.setLast(id)
        let request = self.request(head, UnsafeRawBufferPointer(region), slot)
        finish(delegate.errorResponse(error.status, error.text, to: request), id)
    }

    private func countLimit(_ error: RequestError) {
        switch error.status {
        case 413: delegate.limitReached(.bodyBytes)
        case 431: delegate.limitReached(.headBytes)
        default: break
        }
    }

    /// Refuses a request because the loop already buffers as much as it may.
    func rejectForMemory(_ reading: RequestReading, _ slot: Int) {
        let request = forget(reading) ?? MeasuredRequest(correlationID: correlationIDs.next())
        connections[slot].awaitsResponse = false
        delegate.limitReached(.bufferBytes)
        let response = errorResponse(503, "Overloaded: too many incomplete requests, try again", reading, slot)
        respondLast(response, to: request, on: slot)
    }

    /// Ends a request that is not complete in time.
    func requestTimedOut(_ slot: Int) {
        guard let reading = takeReading(slot) else { return drop(slot) }  // nothing of a request has arrived
        if case .discarding = reading.stage { return drop(slot) }  // the response is sent
        let request = forget(reading) ?? MeasuredRequest(correlationID: correlationIDs.next())
        respondLast(errorResponse(408, "The request did not arrive in time", reading, slot), to: request, on: slot)
    }

    func respondLast(
        _ status: Int, _ text: String, headers: HTTPHeaders = [:], _ request: HTTPRequest, _ slot: Int
    ) {
        let response = delegate.errorResponse(status, text, to: request).adding(headers)
        let measured = MeasuredRequest(
            endpoint: delegate.endpoint(of: request), method: request.method, receivedAt: Clock.monotonicNanoseconds(),
            correlationID: correlationIDs.id(of: request.head, in: request.bytes))
        respondLast(response, to: measured, withoutBody: request.method == .head, on: slot)
    }

    private func respondLast(
        _ response: HTTPResponse, to request: MeasuredRequest, withoutBody: Bool = false, on slot: Int
    ) {
        replies.append(to: connections[slot].socket) {
            ResponseEncoder.write(
                response, to: &$0, correlationID: request.correlationID, withoutBody: withoutBody, connection: .close)
        }
        measure(request, response.status, bytes: response.body.count, slot)
        linger(slot)
    }

    /// Ends the connection after what is written so far. Closing at once would reset it while the client still sends,
    /// and destroy the response (RFC 9112 section 9.6).
    func linger(_ slot: Int) {
        if connections[slot].phase != .dropped { connections[slot].phase = .lingering }
    }

    /// Tells the client that no more follows, once all is sent.
    func endSending(_ slot: Int) {
        updateReading(slot)
        transport.endSending(on: slot, descriptor: connections[slot].descriptor)
        deadlines.set(.close, slot, &connections)
    }

    /// A response to a request that is not complete.
    private func errorResponse(_ status: Int, _ text: String, _ reading: RequestReading, _ slot: Int) -> HTTPResponse {
        reading.bytes.withUnsafeBytes { bytes in
            var head = reading.head ?? RequestHead()
            head.removePathPrefix(options.pathPrefix, from: bytes)
            return delegate.errorResponse(status, text, to: request(head, bytes, slot))
        }
    }

    /// A request without its body, as far as its head was read.
    func request(
        _ head: RequestHead, _ bytes: UnsafeRawBufferPointer, correlationID: String = "", _ slot: Int
    ) -> HTTPRequest {
        var request = HTTPRequest(
            head: head, bytes: bytes, body: UnsafeRawBufferPointer(start: nil, count: 0), correlationID: correlationID,
            isLoopback: isLoopback(head, slot))
        request.isSecure = isSecure(request, slot)
        return request
    }

    // MARK: What follows a last response

    /// The most bytes that a peer may send behind its last response, or behind our close frame. They are received and
    /// discarded, so that the response reaches a peer that reads only when it has sent all, but that is work for each byte.
    private static let discardedBytesMax = 262_144

    /// Counts what a peer sends that is discarded, and resets the connection above the limit. In units of 16 bytes, because
    /// receiving a single byte is work, too.
    /// - Returns: whether the connection goes on.
    func discard(_ count: Int, _ slot: Int) -> Bool {
        let units = Int(connections[slot].discardedUnits) + (count + 15) / 16
        connections[slot].discardedUnits = UInt16(clamping: units)
        guard units * 16 > Self.discardedBytesMax else { return true }
        delegate.limitReached(.discardedBytes)
        drop(slot)
        return false
    }
}
