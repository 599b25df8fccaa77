import CLibwebsockets
import Glibc
import PusherProtocol

/// Writing to WebSockets, holding back what their sockets do not take, and letting go of those who take too little.
extension EventLoop {
    /// What is handed to the library at once: it keeps without a bound, or a count, what the kernel does not take.
    private static let sliceBytes = 65_536

    /// Sends `frame`, or keeps it while the socket is backed up. Beyond its bound the connection is dropped without a
    /// close frame: none can pass a full buffer. A connection that has gone is ignored.
    package func write(_ frame: Frame, to socket: SocketID) {
        guard let state = connections.state(of: socket), state == .open || state == .closePending else { return }
        let rest = Outbox.Chunk(frame: frame, offset: 0)
        if connections[socket.slot].isBackedUp {
            enqueue(rest, socket.slot)
        } else if let left = writeNow(rest, socket.slot) {
            enqueue(left, socket.slot)
        }
    }

    /// Writes slice by slice as far as the socket takes it; what is left, if anything.
    private func writeNow(_ rest: Outbox.Chunk, _ slot: Int) -> Outbox.Chunk? {
        let wsi = connections[slot].wsi
        var offset = rest.offset
        if offset == 0 { counters.add(rest.frame.messageCount, to: .messagesSent) }
        while offset < rest.frame.bytes.count, !connections[slot].isBackedUp {
            let count = min(rest.frame.bytes.count - offset, Self.sliceBytes)
            let written = rest.frame.bytes.withUnsafeBytes { clws_write_raw(wsi, $0.baseAddress?.advanced(by: offset), count) }
            guard written >= 0 else {
                drop(slot)
                return nil
            }
            counters.add(count, to: .bytesSent)
            offset += count
            if lws_partial_buffered(wsi) != 0 {
                connections[slot].isBackedUp = true
                lws_callback_on_writable(wsi)
            }
        }
        return offset < rest.frame.bytes.count ? Outbox.Chunk(frame: rest.frame, offset: offset) : nil
    }

    private func enqueue(_ rest: Outbox.Chunk, _ slot: Int) {
        switch outboxes[slot, default: Outbox()].enqueue(rest, bytesMax: Int(connections[slot].outboxBytesMax)) {
        case .queued: counters.add(rest.count, to: .outboxBytes)
        case .overflow:
            counters.add(to: .slowConsumers)
            drop(slot)
        }
    }

    /// The socket takes more again.
    func writable(_ slot: Int) {
        connections[slot].isBackedUp = false
        while !connections[slot].isBackedUp, connections[slot].state != .dropped, let rest = outboxes[slot]?.next() {
            counters.add(-rest.count, to: .outboxBytes)
            guard let left = writeNow(rest, slot) else { continue }
            outboxes[slot]?.putBack(left)
            counters.add(left.count, to: .outboxBytes)
        }
        if outboxes[slot]?.isEmpty == true { outboxes[slot] = nil }
        if !connections[slot].isBackedUp, delayedCloses[slot] != nil { drained.append(slot) }
    }

    // MARK: Closing

    /// Says goodbye to a connection at the end of this turn, behind everything that was noted for it until then.
    package func close(_ socket: SocketID, _ code: CloseCode, reason: String) {
        guard connections.state(of: socket) == .open else { return }
        connections[socket.slot].state = .closePending
        closePending.append((socket, CloseFrame(code: code, reason: reason)))
    }

    /// Ends a connection without a word, at the end of this turn.
    private func drop(_ slot: Int) {
        guard connections[slot].state != .dropped else { return }
        connections[slot].state = .dropped
        closePending.append((connections[slot].socket, nil))
    }

    /// Has the library close a connection: with a close frame, which it sends and waits for the answer of, or at once.
    func end(_ slot: Int, _ goodbye: CloseFrame?) {
        delayedCloses[slot] = nil
        let wsi = connections[slot].wsi
        if let goodbye {
            delegate.closing(with: goodbye.code)
            let reason = Array(Self.fitting(goodbye.reason).utf8)
            clws_close_reason(wsi, Int32(goodbye.code.rawValue), reason, reason.count)
        } else {
            // Or the library would first try to send what it still has, to somebody who takes nothing.
            shutdown(lws_get_socket_fd(wsi), Int32(SHUT_RDWR))
        }
        clws_kill_now(wsi)
    }

    /// A control frame holds 125 bytes, two of them the code (RFC 6455 section 5.5); what does not fit goes by whole scalars.
    private static func fitting(_ reason: String) -> String {
        var fitting = reason.unicodeScalars
        while fitting.reduce(0, { $0 + UTF8.width($1) }) > 123 { fitting.removeLast() }
        return String(fitting)
    }

    /// Forgets a connection that the library has closed.
    func forget(_ slot: Int) {
        if let outbox = outboxes.removeValue(forKey: slot) { counters.add(-outbox.bytes, to: .outboxBytes) }
        chunks[slot] = nil
        delayedCloses[slot] = nil
        connections.remove(slot: slot)
    }
}
