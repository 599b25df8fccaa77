import HTTP
import PusherProtocol

/// Writing to connections: queues what a full socket does not accept, and drops slow consumers.
extension EventLoop {
    /// Bytes of an outbox written at once, when its socket accepts bytes again. One piece per turn, so that many
    /// recovering connections do not delay the others.
    private static let pieceBytes = 65_536
    /// How many times the outbox limit a connection may have queued, if its client takes all of it in time
    /// (``Deadlines/Kind/outbox``). A burst is faster than any client: one batch of 10 events with 10 KB each to 100 channels
    /// is 10 MB for a client that is subscribed to all of them.
    private static let burstFactor = 16
    /// A response with a longer body, in bytes, is a list: it is sent without a copy, and only if there is room for it.
    static let longBodyBytes = 65_536

    /// Sends `frame`, or queues it in the outbox if the socket is full. Does nothing for a closed connection.
    ///
    /// A connection whose outbox exceeds its limit and does not become empty in time is a slow consumer, which the loop gives
    /// up.
    package func write(_ frame: Frame, to socket: SocketID) {
        guard isWritable(socket) else { return }
        let slot = socket.slot
        metrics.add(frame.messageCount, to: .messagesSent)
        write(frame.bytes, slot)
        if connections[slot].isFull { limitOutbox(slot) }
    }

    /// Whether frames can be written to the connection: it is an open WebSocket.
    ///
    /// Inlined, because each delivery asks.
    @inline(__always)
    package func isWritable(_ socket: SocketID) -> Bool {
        guard let phase = connections.phase(of: socket) else { return false }
        return phase == .webSocket || phase == .closePending
    }

    /// Whether the connection's socket is full: what is written waits.
    package func isFull(_ socket: SocketID) -> Bool {
        connections.phase(of: socket) != nil && connections[socket.slot].isFull
    }

    /// Whether there is memory for a response while the client takes it. False only for a list: a long response to GET.
    ///
    /// Lists leave an eighth of the memory to events and other responses: otherwise the next one of these would drop a
    /// client that is taking its list.
    package func hasRoom(for response: HTTPResponse, to id: RequestID) -> Bool {
        response.body.count <= Self.longBodyBytes || pendingResponses[id]?.measured.method != .get
            || outboxes.heldBytes + response.body.count <= options.outboxBytesMax / 8 * 7
    }

    /// Writes or queues frames, after the responses of this turn: one of them may be the connection's upgrade. Keeps the
    /// order of all bytes of a connection.
    func write(_ bytes: [UInt8], _ slot: Int) {
        sendReplies()
        let sent = connections[slot].isFull ? 0 : bytes.withUnsafeBytes { send($0, slot) }
        if sent < bytes.count { enqueue(bytes, from: sent, slot) }
    }

    /// Writes bytes, or queues a copy.
    func write(_ bytes: UnsafeRawBufferPointer, _ slot: Int) {
        let sent = connections[slot].isFull ? 0 : send(bytes, slot)
        if sent < bytes.count { enqueue(Array(bytes[sent...]), from: 0, slot) }
    }

    /// - Returns: the number of bytes that the socket took. If it is fewer than all, the socket is full or broken.
    private func send(_ bytes: UnsafeRawBufferPointer, _ slot: Int) -> Int {
        let connection = connections[slot]
        switch transport.send(bytes, on: slot, descriptor: connection.descriptor) {
        case .sent(let count):
            countSent(count, connection.phase)
            return count
        case .full(let count):
            countSent(count, connection.phase)
            connections[slot].isFull = true
            transport.wantWritable(connection.transport)
            updateReading(slot)
            // What the client sends now waits until it has read the response, and is not late.
            if connection.phase == .http, connection.deadline.kind != .idle { deadlines.set(.idle, slot, &connections) }
            return count
        case .failed:
            drop(slot)
            return bytes.count  // what a broken connection gets counts as sent
        }
    }

    private func countSent(_ count: Int, _ phase: ConnectionTable.Phase) {
        metrics.add(count, to: phase == .http || phase == .lingering ? .httpBytesSent : .bytesSent)
    }

    private func enqueue(_ bytes: [UInt8], from offset: Int, _ slot: Int) {
        guard connections[slot].phase != .dropped else { return }
        outboxes.enqueue(bytes, from: offset, slot)
        limitOutboxes()
        countOutboxes()
    }

    private func countOutboxes() { metrics.add(outboxes.heldBytes - metrics[.outboxBytes], to: .outboxBytes) }

    // MARK: Slow consumers

    /// Gives up the connections with the fullest outboxes until all outboxes together are within their limit.
    private func limitOutboxes() {
        while outboxes.heldBytes > options.outboxBytesMax, let slot = outboxes.fullest {
            delegate.limitReached(.outgoingBytes)
            giveUp(slot)
        }
    }

    /// Gives up a WebSocket whose socket is full and whose outbox is far above its limit. One above the limit has some time to
    /// become empty.
    private func limitOutbox(_ slot: Int) {
        guard connections[slot].phase != .dropped else { return }
        let (bytes, limit) = (outboxes.bytes(slot), Int(connections[slot].outboxBytesMax))
        guard bytes > limit else { return }
        if bytes > limit * Self.burstFactor { return giveUp(slot) }
        if connections[slot].deadline.kind != .outbox { deadlines.set(.outbox, slot, &connections) }
    }

    /// Gives up a client that reads too slowly. A WebSocket's client gets the rest of the frame of which it has a part, and
    /// a close frame: one that still reads learns that it is to come back, and why. Some clients do not connect again after
    /// two connections that ended without one. If the client does not take these few bytes in time, or is given up again, the
    /// connection is dropped.
    func giveUp(_ slot: Int) {
        guard connections[slot].phase != .dropped else { return }
        if !connections[slot].isSlow { metrics.add(to: .slowConsumers) }
        // Where the response to the upgrade is still queued, the beginning of frames is not known.
        guard connections[slot].phase == .webSocket, queuedResponses[slot] == nil else { return drop(slot) }
        connections[slot].isSlow = true
        connections[slot].phase = .closing  // from now on nothing is written
        outboxes.cutBehindPresentFrame(slot)
        countOutboxes()
        agenda.add(.close(connections[slot].socket, Self.slowConsumer), .change)
    }

    private static let slowConsumer = CloseFrame(
        code: .overCapacity, reason: "The client reads too slowly: see outbox_bytes and server.outgoing_bytes")

    /// Frees what is queued for a connection that ends.
    func discardOutbox(_ slot: Int) {
        if outboxes.remove(slot) != nil { countOutboxes() }
    }

    /// Writes a piece of the outbox; called when the socket accepts bytes again.
    func writeOutbox(_ slot: Int) {
        guard transport.flush(connections[slot].transport, slot: slot) else { return }
        connections[slot].isFull = false
        if var outbox = outboxes.remove(slot) {
            defer { countOutboxes() }
            var sent = 0
            outbox.withNext(Self.pieceBytes, &scratch) { sent = send($0, slot) }
            guard connections[slot].phase != .dropped else { return }
            outbox.removeFirst(sent)
            if !outbox.isEmpty {
                outboxes.restore(outbox, slot)
                // The next piece in another turn.
                connections[slot].isFull = true
                transport.wantWritable(connections[slot].transport)
                return
            }
        }
        updateReading(slot)
        outboxEmptied(slot)
    }

    /// Continues what waited for the outbox.
    private func outboxEmptied(_ slot: Int) {
        countQueuedResponses(slot)
        switch connections[slot].phase {
        case .http where connections[slot].awaitsResponse: deadlines.cancel(slot, &connections)
        case .http:
            deadlines.set(.idle, slot, &connections)
            continueRequests(slot)
        case .lingering: endSending(slot)
        case .webSocket, .closePending: deadlines.cancel(slot, &connections)
        case .closing where connections[slot].closesWhenSent: drop(slot)
        case .closing: deadlines.set(.close, slot, &connections)
        case .proxyHeader, .dropped: break
        }
    }

    /// Pauses or resumes receiving as the connection's state requires.
    ///
    /// An HTTP connection is not read while it waits for a response or sends one: pipelined requests then wait in the
    /// kernel, and the client's FIN does not end the connection before it has the response.
    func updateReading(_ slot: Int) {
        let mustPause = mustPause(slot)
        guard mustPause != connections[slot].isReadingPaused else { return }
        connections[slot].isReadingPaused = mustPause
        transport.pauseReading(connections[slot].transport, mustPause)
        if !mustPause, transport.hasUnread(slot) { wait(slot, .bulk) }
    }

    /// Whether nothing may be received.
    func mustPause(_ slot: Int) -> Bool {
        let connection = connections[slot]
        return switch connection.phase {
        case _ where connection.awaitsTurn: true
        case .http: connection.awaitsResponse || connection.isFull
        case .lingering: connection.isFull
        case .webSocket, .closePending, .closing: connection.isThrottled
        case .proxyHeader: false
        case .dropped: true
        }
    }
}
