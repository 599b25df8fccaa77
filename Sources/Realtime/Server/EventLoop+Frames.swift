import Observability
import Primitives
import PusherProtocol
import WebSocketFraming

/// Reading the frames of WebSockets (RFC 6455).
///
/// A client may make the loop work only so much: a turn reads each connection for a short time and leaves the rest to
/// the next turns, and a client above its rate of messages is not read for a while. Nothing is lost: what it sends waits
/// in the kernel, and then with the client.
extension EventLoop {
    /// What the frames may cost that are read of a connection at once (``FrameDecoder/cost``). Its time ends only with a
    /// message; this bounds frames that complete none.
    private static let costMax = 100

    func framesReceived(_ bytes: UnsafeMutableRawBufferPointer, _ slot: Int) {
        metrics.add(bytes.count, to: .bytesReceived)
        let count = readFrames(bytes, slot)
        keep(UnreadFrames(bytes: Array(bytes[count...])), slot)
    }

    /// Reads what a connection has sent before it had to wait.
    /// - Returns: whether there was any.
    func continueFrames(_ slot: Int) -> Bool {
        guard !connections[slot].isThrottled, var unread = takeUnread(slot) else { return false }
        let start = unread.start
        let count = unread.bytes.withUnsafeMutableBytes { bytes in
            readFrames(UnsafeMutableRawBufferPointer(rebasing: bytes[start...]), slot)
        }
        unread.removeFirst(count)
        keep(unread, slot)
        return true
    }

    /// - Returns: the number of bytes that are done with. If not all are, the connection waits for its turn or its rate.
    private func readFrames(_ bytes: UnsafeMutableRawBufferPointer, _ slot: Int) -> Int {
        var decoder = takeDecoder(slot) ?? FrameDecoder(messageBytesMax: Int(connections[slot].messageBytesMax))
        if connections[slot].phase != .webSocket { decoder.stopDelivering() }
        var offset = 0
        while let event = decoder.next(in: bytes, at: &offset, costMax: Self.costMax) {
            handle(event, slot)
            // After the server's close frame no message is delivered; the client's close frame is still read.
            if connections[slot].phase != .webSocket { decoder.stopDelivering() }
            if offset < bytes.count, clock() >= visitEnd { break }
        }
        writePong(slot)
        throttle(slot, decoder.cost)
        decoder.cost = 0
        keep(decoder, slot)
        if offset < bytes.count, connections[slot].phase != .dropped, !connections[slot].isThrottled { wait(slot, .bulk) }
        return offset
    }

    private func handle(_ event: FrameDecoder.Event, _ slot: Int) {
        let connection = connections[slot]
        let socket = connection.socket
        let isOpen = connection.phase == .webSocket && connection.isAdmitted
        switch event {
        case .text(let text):
            guard isOpen else { return }
            metrics.add(to: .messagesReceived)
            delegate.received(text, from: socket)
        case .binary:
            if isOpen { close(socket, .binaryRefused, reason: "Binary frames are not supported: send text") }
        case .ping(let payload):
            guard connection.phase == .webSocket else { return }
            pong = Frame.pong(payload: payload)
            if isOpen { delegate.pingReceived(from: socket) }
        case .pong(let payload):
            if isOpen { delegate.pongReceived(from: socket, payload) }
        case .close(let code, _): clientClosed(slot, code)
        case .failed(let code, let reason): fail(slot, code, reason)
        }
    }

    /// Answers the last ping of what was received: a client that floods pings gets one pong (RFC 6455 section 5.5.3).
    func writePong(_ slot: Int) {
        guard let frame = pong else { return }
        pong = nil
        write(frame, to: connections[slot].socket)
    }

    // MARK: Rate

    /// Charges what frames of a client cost, and stops reading it if that is more than its rate permits.
    private func throttle(_ slot: Int, _ cost: Int) {
        guard connections[slot].phase == .webSocket, connections[slot].isAdmitted else { return }
        let now = Int64(clock())
        let rate = connections[slot].messageRate
        connections[slot].messages.overdraw(cost, rate, now: now)
        guard !connections[slot].messages.hasToken(rate, now: now) else { return }
        delegate.limitReached(.messagesPerSecond)
        connections[slot].isThrottled = true
        if connections[slot].throttledAt < deadlines.now - 1 { connections[slot].floodingSince = deadlines.now }
        connections[slot].throttledAt = deadlines.now
        throttled.append(connections[slot].socket)
        updateReading(slot)
    }

    /// Lets the agenda look at the clients that are above their rate. Called once a second.
    func lookAtThrottled() {
        for socket in throttled { agenda.add(.resume(socket), .bulk) }
        throttled.removeAll(keepingCapacity: true)
    }

    /// Reads a client again if its rate permits it. Drops it if it has gone meanwhile, with what it has sent above its rate,
    /// and closes it if it floods.
    func resume(_ socket: SocketID) {
        // A connection that is being closed is read, so that the client's close frame is found.
        guard let phase = connections.phase(of: socket) else { return }
        let connection = connections[socket.slot]
        if phase == .webSocket, deadlines.now - connection.floodingSince >= Deadlines.ticks(Timing.floodMax) {
            close(socket, .overCapacity, reason: "Too many messages: they have waited for \(Timing.floodMax / 1_000) s")
            return throttled.append(socket)  // read on when the close frame is sent
        }
        connections[socket.slot].throttledAt = deadlines.now
        guard phase != .webSocket || connection.messages.hasToken(connection.messageRate, now: Int64(clock())) else {
            return transport.hasPeerEnded(connection.descriptor) ? drop(socket.slot) : throttled.append(socket)
        }
        connections[socket.slot].isThrottled = false
        wait(socket.slot, .bulk)
    }

    // MARK: Incomplete messages

    private func takeDecoder(_ slot: Int) -> FrameDecoder? {
        guard let decoder = decoders.removeValue(forKey: slot) else { return nil }
        bufferedBytes -= decoder.keptByteCount
        return decoder
    }

    /// Keeps the decoder of a connection in the middle of a message. An idle connection needs none.
    private func keep(_ decoder: FrameDecoder, _ slot: Int) {
        guard !decoder.isIdle, connections[slot].phase != .dropped, permitsBuffering(decoder.keptByteCount, slot) else { return }
        bufferedBytes += decoder.keptByteCount
        decoders[slot] = decoder
    }

    /// Keeps what is not read of a connection. Until it is, no more is received.
    private func keep(_ unread: UnreadFrames, _ slot: Int) {
        guard !unread.isEmpty, connections[slot].phase != .dropped, permitsBuffering(unread.bytes.count, slot) else { return }
        bufferedBytes += unread.bytes.count
        unreadFrames[slot] = unread
    }

    private func takeUnread(_ slot: Int) -> UnreadFrames? {
        guard !unreadFrames.isEmpty, let unread = unreadFrames.removeValue(forKey: slot) else { return nil }
        bufferedBytes -= unread.bytes.count
        return unread
    }

    /// Whether so many bytes may be kept of a WebSocket. If not, the loop closes it, and discards what it sends.
    private func permitsBuffering(_ count: Int, _ slot: Int) -> Bool {
        guard bufferedBytes + count > options.bufferedBytesMax else { return true }
        if connections[slot].phase == .webSocket { delegate.limitReached(.bufferBytes) }
        fail(slot, CloseCode.overCapacity.rawValue, "Overloaded: too many incomplete messages")
        return false
    }

    /// Forgets what a closed connection has sent.
    func forgetFrames(_ slot: Int) {
        _ = takeDecoder(slot)
        _ = takeUnread(slot)
    }
}

/// What a WebSocket has sent that is not decoded yet.
struct UnreadFrames {
    var bytes: [UInt8]
    /// The index of the first byte that is not decoded.
    private(set) var start = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isEmpty: Bool { start == bytes.count }

    /// Removes bytes that are decoded. They are removed from memory once they are half of it: a client may send thousands of
    /// frames at once, and moving the rest after each would take quadratic time.
    mutating func removeFirst(_ count: Int) {
        start += count
        guard start * 2 >= bytes.count else { return }
        bytes.removeFirst(start)
        start = 0
    }
}
