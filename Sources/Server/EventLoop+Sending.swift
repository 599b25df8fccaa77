import CLibwebsockets
import Glibc
import PusherProtocol

/// Writing to WebSockets: queues what a full socket does not accept, and drops slow consumers.
extension EventLoop {
    /// Bytes per write. Larger writes could use much memory: libwebsockets buffers what the kernel does not accept,
    /// without a limit and without reporting how much.
    private static let sliceBytes = 65_536

    /// Sends `frame`, or queues it in the outbox if the socket's buffer is full. If the outbox would exceed its limit,
    /// drops the connection, without a close frame: the full buffer would not accept one. Does nothing for a closed
    /// connection.
    package func write(_ frame: Frame, to socket: SocketID) {
        guard let state = connections.state(of: socket), state == .open || state == .closePending else { return }
        let chunk = Outbox.Chunk(frame: frame, offset: 0)
        if connections[socket.slot].isBackedUp {
            enqueue(chunk, socket.slot)
        } else if let rest = writeNow(chunk, socket.slot) {
            enqueue(rest, socket.slot)
        }
    }

    /// Writes slices until the socket's buffer is full.
    /// - Returns: the unsent rest; nil if all was sent or the connection was dropped.
    private func writeNow(_ chunk: Outbox.Chunk, _ slot: Int) -> Outbox.Chunk? {
        let wsi = connections[slot].wsi
        var offset = chunk.offset
        if offset == 0 { metrics.add(chunk.frame.messageCount, to: .messagesSent) }
        while offset < chunk.frame.bytes.count, !connections[slot].isBackedUp {
            let count = min(chunk.frame.bytes.count - offset, Self.sliceBytes)
            let written = chunk.frame.bytes.withUnsafeBytes { clws_write_raw(wsi, $0.baseAddress?.advanced(by: offset), count) }
            guard written >= 0 else {
                drop(slot)
                return nil
            }
            metrics.add(count, to: .bytesSent)
            offset += count
            if lws_partial_buffered(wsi) != 0 {
                connections[slot].isBackedUp = true
                lws_callback_on_writable(wsi)
            }
        }
        return offset < chunk.frame.bytes.count ? Outbox.Chunk(frame: chunk.frame, offset: offset) : nil
    }

    /// Queues a chunk in the outbox. Drops the connection if the outbox would exceed its limit.
    private func enqueue(_ chunk: Outbox.Chunk, _ slot: Int) {
        switch outboxes[slot, default: Outbox()].enqueue(chunk, bytesMax: Int(connections[slot].outboxBytesMax)) {
        case .queued: metrics.add(chunk.count, to: .outboxBytes)
        case .overflow:
            metrics.add(to: .slowConsumers)
            drop(slot)
        }
    }

    /// Writes queued chunks; called when the socket accepts bytes again.
    func writable(_ slot: Int) {
        connections[slot].isBackedUp = false
        while !connections[slot].isBackedUp, connections[slot].state != .dropped, let chunk = outboxes[slot]?.next() {
            metrics.add(-chunk.count, to: .outboxBytes)
            guard let rest = writeNow(chunk, slot) else { continue }
            outboxes[slot]?.putBack(rest)
            metrics.add(rest.count, to: .outboxBytes)
        }
        if outboxes[slot]?.isEmpty == true { outboxes[slot] = nil }
        if !connections[slot].isBackedUp, delayedCloses[slot] != nil { readyToClose.append(slot) }
    }

    // MARK: Closing

    /// Closes a connection at the end of this turn, after all frames written to it until then.
    package func close(_ socket: SocketID, _ code: CloseCode, reason: String) {
        guard connections.state(of: socket) == .open else { return }
        connections[socket.slot].state = .closePending
        pendingCloses.append((socket, CloseFrame(code: code, reason: reason)))
    }

    /// Ends a connection without a close frame at the end of this turn.
    private func drop(_ slot: Int) {
        guard connections[slot].state != .dropped else { return }
        connections[slot].state = .dropped
        pendingCloses.append((connections[slot].socket, nil))
    }

    /// Makes libwebsockets close a connection. With a close frame, libwebsockets sends it and waits for the client's
    /// close frame; without one, it closes at once.
    func end(_ slot: Int, _ frame: CloseFrame?) {
        delayedCloses[slot] = nil
        let wsi = connections[slot].wsi
        if let frame {
            delegate.closing(with: frame.code)
            let reason = Array(Self.truncated(frame.reason).utf8)
            clws_close_reason(wsi, Int32(frame.code.rawValue), reason, reason.count)
        } else {
            // Without the shutdown, libwebsockets would first try to send its buffer to a client that does not read.
            shutdown(lws_get_socket_fd(wsi), Int32(SHUT_RDWR))
        }
        clws_kill_now(wsi)
    }

    /// Truncates a close reason to at most 123 bytes of whole Unicode scalars. A control frame has at most 125 bytes of
    /// payload, two of which are the code (RFC 6455 section 5.5).
    private static func truncated(_ reason: String) -> String {
        var scalars = reason.unicodeScalars
        while scalars.reduce(0, { $0 + UTF8.width($1) }) > 123 { scalars.removeLast() }
        return String(scalars)
    }

    /// Removes the state of a connection that libwebsockets has closed.
    func remove(_ slot: Int) {
        if let outbox = outboxes.removeValue(forKey: slot) { metrics.add(-outbox.bytes, to: .outboxBytes) }
        partialMessages[slot] = nil
        delayedCloses[slot] = nil
        connections.remove(slot: slot)
    }
}
