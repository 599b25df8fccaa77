import HTTP
import HTTP1

/// Responses to HTTP requests: encoded when they are known, and sent together at the end of the turn.
extension EventLoop {
    /// Responses to pipelined requests are gathered up to this size, in bytes, and sent with one system call.
    static let gatheredBytesMax = 65_536

    /// Responds to a request for which ``EventLoopDelegate/respond(to:_:)`` returned nil. The response is written at
    /// the end of this turn or a later one, when no callback of the transport is on the stack. Does nothing if the connection has
    /// closed.
    package func respond(_ response: HTTPResponse, to id: RequestID) { agenda.add(.decide(id, .respond(response)), .step) }

    /// Goes on with a request for which ``EventLoopDelegate/decide(on:_:)`` returned `.wait`, at the end of this turn or a
    /// later one.
    /// Does nothing if the connection has closed.
    /// - Parameter actor: the sender, if it is known now.
    package func resume(_ id: RequestID, with decision: HeadDecision, actor: String?) {
        pendingResponses.measure(id) { $0.actor = actor }
        agenda.add(.decide(id, decision), .step)
    }

    /// Goes on with a request as another thread has decided.
    func apply(_ decision: HeadDecision, to id: RequestID) {
        // A connection that was dropped in this turn keeps its reading until it is closed.
        guard let slot = pendingResponses[id]?.slot, readings[slot]?.request == id, connections[slot].phase == .http,
            var reading = takeReading(slot)
        else { return }
        connections[slot].awaitsResponse = false
        switch (reading.stage, decision) {
        case (.undecided(let head, _), _): reading.stage = .decided(head, id, decision)
        case (_, .respond(let response)):
            reading.stage = nextHead
            finish(response, id)
        default: preconditionFailure("a complete request needs a response, not a decision about its body")
        }
        readBuffered(&reading, slot)
        if replies.byteCount > Self.gatheredBytesMax { sendReplies() }
    }

    /// Encodes the response to a request.
    func finish(_ response: HTTPResponse, _ id: RequestID) {
        guard let pending = pendingResponses.remove(id) else { return }
        let isLong = response.body.count > Self.longBodyBytes && !pending.withoutBody
        replies.append(to: connections[pending.slot].socket) {
            ResponseEncoder.write(
                response, to: &$0, correlationID: pending.measured.correlationID, withoutBody: pending.withoutBody || isLong,
                connection: pending.isLast ? .close : pending.isHTTP11 ? .persistent : .keepAlive)
        }
        if isLong { replies.append(body: response.body) }
        measure(pending.measured, response.status, bytes: response.body.count, pending.slot)
        if pending.isLast { linger(pending.slot) }
    }

    /// Sends the responses that are encoded in ``replies``: at the end of the turn, or before a frame is written.
    ///
    /// Sending all at once, rather than each when its request is read, wakes a client on this machine once per turn:
    /// waking a sleeping core takes tens of microseconds of the sender's time.
    func sendReplies() {
        guard !replies.isEmpty else { return }
        var sending = Replies()
        swap(&sending, &replies)
        sending.forEachPart { bytes, body, socket in
            // A connection may have been dropped in this turn.
            guard let phase = connections.phase(of: socket), phase != .dropped else { return }
            let slot = socket.slot
            write(bytes, slot)
            if let body, connections[slot].phase != .dropped { write(body, slot) }
            guard connections[slot].phase == .lingering else { return }
            if connections[slot].isFull { deadlines.set(.idle, slot, &connections) } else { endSending(slot) }
        }
        countSentResponses()
        sending.removeAll()
        swap(&sending, &replies)
    }
}
