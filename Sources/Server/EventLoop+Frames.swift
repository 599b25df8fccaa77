import Observability
import Primitives
import PusherProtocol
import Threads
import WebSocketFraming

/// Reading the frames of WebSockets (RFC 6455).
///
/// A client may make the loop work only so much: a turn handles some frames of each connection and leaves the rest to
/// the next turn, and a client above its rate of messages is not read for a while. Nothing is lost: what it sends waits
/// in the kernel, and then with the client.
extension EventLoop {
    /// How many frames of one connection a turn handles, and how many when the turn's time for reading is over. The worst
    /// cost microseconds each.
    private static let framesPerTurnMax = (inTime: 100, later: 10)
    /// A client whose messages have waited for their rate for so many seconds is closed. Otherwise the kernel, which keeps
    /// megabytes of what a client has sent, would keep its connection for minutes, even after the client has gone.
    private static let floodSecondsMax: Int32 = 20

    func framesReceived(_ bytes: UnsafeMutableRawBufferPointer, _ slot: Int) {
        metrics.add(bytes.count, to: .bytesReceived)
        readFrames(bytes, slot)
    }

    /// Reads what a connection has sent before it had to wait.
    func continueFrames(_ slot: Int) {
        guard !connections[slot].awaitsTurn, !connections[slot].isThrottled else { return }
        var bytes = takeUnread(slot)
        bytes.withUnsafeMutableBytes { if !$0.isEmpty { readFrames($0, slot) } }
        if connections.isOccupied(slot) { updateReading(slot) }
    }

    private func readFrames(_ bytes: UnsafeMutableRawBufferPointer, _ slot: Int) {
        var decoder = takeDecoder(slot) ?? FrameDecoder(messageBytesMax: Int(connections[slot].messageBytesMax))
        if connections[slot].phase != .webSocket { decoder.stopDelivering() }
        var offset = 0
        let costMax = isReadingOver ? Self.framesPerTurnMax.later : Self.framesPerTurnMax.inTime
        while let event = decoder.next(in: bytes, at: &offset, costMax: costMax) {
            handle(event, slot)
            // After the server's close frame no message is delivered; the client's close frame is still read.
            if connections[slot].phase != .webSocket { decoder.stopDelivering() }
        }
        writePong(slot)
        throttle(slot, decoder.cost)
        decoder.cost = 0
        keep(decoder, slot)
        guard offset < bytes.count, connections[slot].phase != .dropped else { return }
        keepUnread(UnsafeMutableRawBufferPointer(rebasing: bytes[offset...]), slot)
        if !connections[slot].isThrottled { continueNextTurn(slot) }
        updateReading(slot)
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
        let now = Int64(Clock.monotonicNanoseconds())
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

    /// Reads the clients again whose rate permits it. Drops those that have gone meanwhile, with what they have sent above
    /// their rate, and closes those that flood. Called once a second.
    func resumeThrottled() {
        guard !throttled.isEmpty else { return }
        let now = Int64(Clock.monotonicNanoseconds())
        let sockets = throttled
        throttled.removeAll(keepingCapacity: true)
        for socket in sockets {
            // A connection that is being closed is read, so that the client's close frame is found.
            guard let phase = connections.phase(of: socket) else { continue }
            let connection = connections[socket.slot]
            if phase == .webSocket, deadlines.now - connection.floodingSince >= Self.floodSecondsMax {
                close(socket, .overCapacity, reason: "Too many messages: they have waited for \(Self.floodSecondsMax) s")
                throttled.append(socket)  // read on when the close frame is sent
                continue
            }
            connections[socket.slot].throttledAt = deadlines.now
            guard phase != .webSocket || connection.messages.hasToken(connection.messageRate, now: now) else {
                if transport.hasPeerEnded(connection.descriptor) { drop(socket.slot) } else { throttled.append(socket) }
                continue
            }
            connections[socket.slot].isThrottled = false
            if !connection.awaitsTurn { continueNextTurn(socket.slot) }
        }
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

    private func keepUnread(_ bytes: UnsafeMutableRawBufferPointer, _ slot: Int) {
        guard permitsBuffering(bytes.count, slot) else { return }
        bufferedBytes += bytes.count
        unreadFrames[slot, default: []].append(contentsOf: bytes)
    }

    private func takeUnread(_ slot: Int) -> [UInt8] {
        guard let bytes = unreadFrames.removeValue(forKey: slot) else { return [] }
        bufferedBytes -= bytes.count
        return bytes
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
