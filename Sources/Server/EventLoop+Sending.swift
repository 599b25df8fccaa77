import PusherProtocol

/// Writing to connections: queues what a full socket does not accept, and drops slow consumers.
extension EventLoop {
    /// Bytes of an outbox written at once, when its socket accepts bytes again. One piece per turn, so that many
    /// recovering connections do not delay the others.
    private static let pieceBytes = 65_536
    /// How many times the outbox limit a connection may have queued, while it reads. A burst of events is faster than any
    /// client: a connection above the limit is dropped only after a second without progress, or above this bound.
    private static let burstFactor = 16

    /// Sends `frame`, or queues it in the outbox if the socket is full. Does nothing for a closed connection.
    ///
    /// A connection whose outbox is above its limit without progress is a slow consumer: it is dropped, without a close
    /// frame, because the full socket would not accept one.
    package func write(_ frame: Frame, to socket: SocketID) {
        guard let phase = connections.phase(of: socket), phase == .webSocket || phase == .closePending else { return }
        let slot = socket.slot
        metrics.add(frame.messageCount, to: .messagesSent)
        write(frame.bytes, slot)
        limitOutbox(slot)
    }

    /// Whether the connection's socket is full: what is written waits.
    package func isFull(_ socket: SocketID) -> Bool {
        connections.phase(of: socket) != nil && connections[socket.slot].isFull
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
            connections[slot].hasProgress = true
            transport.wantWritable(connection.transport)
            updateReading(slot)
            // What the client sends now waits until it has read the response, and is not late.
            if connection.phase == .http { deadlines.set(.idle, slot, &connections) }
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
        outboxes[slot, default: Outbox()].enqueue(bytes, from: offset)
        metrics.add(bytes.count - offset, to: .outboxBytes)
    }

    /// Drops a WebSocket whose outbox is far above its limit.
    private func limitOutbox(_ slot: Int) {
        guard connections[slot].isFull, let bytes = outboxes[slot]?.bytes else { return }
        let limit = Int(connections[slot].outboxBytesMax)
        if bytes > limit * Self.burstFactor { dropSlowConsumer(slot) }
    }

    /// Drops the WebSockets whose outbox is above its limit and which took nothing since the last tick.
    func dropSlowConsumers() {
        for (slot, outbox) in outboxes {
            let isAbove = outbox.bytes > Int(connections[slot].outboxBytesMax) && connections[slot].isAdmitted
            if isAbove, !connections[slot].hasProgress { dropSlowConsumer(slot) }
            connections[slot].hasProgress = false
        }
    }

    private func dropSlowConsumer(_ slot: Int) {
        guard connections[slot].phase != .dropped else { return }
        metrics.add(to: .slowConsumers)
        drop(slot)
    }

    /// Writes a piece of the outbox; called when the socket accepts bytes again.
    func writeOutbox(_ slot: Int) {
        guard transport.flush(connections[slot].transport, slot: slot) else { return }
        connections[slot].isFull = false
        if var outbox = outboxes.removeValue(forKey: slot) {
            var sent = 0
            outbox.withNext(Self.pieceBytes, &scratch) { sent = send($0, slot) }
            guard connections[slot].phase != .dropped else { return metrics.add(-outbox.bytes, to: .outboxBytes) }
            outbox.removeFirst(sent)
            metrics.add(-sent, to: .outboxBytes)
            if sent > 0 {
                connections[slot].hasProgress = true
                // Who takes what was queued gets all of it: the responses, or the frames before a close frame.
                if let kind = connections[slot].deadline.kind, kind == .idle || kind == .close {
                    deadlines.set(kind, slot, &connections)
                }
            }
            if !outbox.isEmpty {
                outboxes[slot] = outbox
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
        case .http: continueRequests(slot)
        case .lingering: endSending(slot)
        case .closing where connections[slot].closesWhenSent: drop(slot)
        case .proxyHeader, .webSocket, .closePending, .closing, .dropped: break
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
