import Addresses
import HTTP
import HTTP1
import PusherProtocol
import Threads
import WebSocketFraming

/// WebSockets: the opening and the closing handshake (RFC 6455).
extension EventLoop {
    // MARK: Opening

    /// Responds to an upgrade request and opens the WebSocket.
    /// - Parameter accept: the value of `Sec-WebSocket-Accept`.
    func openWebSocket(_ slot: Int, _ request: HTTPRequest, _ client: ForwardedClient, accept: String) {
        let socket = connections[slot].socket
        connections[slot].phase = .webSocket
        connections[slot].isWebSocket = true
        webSocketCount += 1
        updateReading(slot)  // paused if the upgrade had to wait for the response to an earlier request
        replies.append(to: socket) { ResponseEncoder.writeSwitchingProtocols(accept: accept, to: &$0) }
        let measured = MeasuredRequest(
            endpoint: delegate.endpoint(of: request), method: request.method, receivedAt: Clock.monotonicNanoseconds())
        measure(measured, 101, bytes: 0, slot)
        if let code = drain?.code { return close(socket, code, reason: DrainWaves.reason) }
        let isSecure = options.certificates != nil || client.isSecure == true
        switch delegate.opened(socket, UpgradeRequest(http: request, isSecure: isSecure, address: client.address)) {
        case .admitted(let limits, let frame):
            connections[slot].isAdmitted = true
            connections[slot].messageBytesMax = Int32(clamping: limits.messageBytes)
            connections[slot].outboxBytesMax = Int32(clamping: limits.outboxBytes)
            connections[slot].messageRate = limits.messageRate
            appendFirst(frame, to: socket)
        case .rejected(let code, let reason, let frame):
            if let frame { appendFirst(frame, to: socket) }
            close(socket, code, reason: reason)
        }
    }

    /// Appends a WebSocket's first frame to the upgrade response, so that one system call sends both.
    private func appendFirst(_ frame: Frame, to socket: SocketID) {
        metrics.add(frame.messageCount, to: .messagesSent)
        replies.append(to: socket) { $0.append(contentsOf: frame.bytes) }
    }

    // MARK: Closing

    /// Closes a WebSocket at the end of this turn or a later one (see ``Agenda``), after all frames written to it until then.
    package func close(_ socket: SocketID, _ code: CloseCode, reason: String) {
        guard connections.phase(of: socket) == .webSocket else { return }
        connections[socket.slot].phase = .closePending
        agenda.add(.close(socket, CloseFrame(code: code, reason: reason)), .change)
    }

    /// The client has sent a close frame: the answer to ours, or the first one, which is echoed (RFC 6455 section
    /// 5.5.1). After both, the server closes the TCP connection (section 7.1.1).
    func clientClosed(_ slot: Int, _ code: UInt16?) {
        switch connections[slot].phase {
        case .webSocket:
            writePong(slot)
            leave(slot)
            guard connections[slot].phase == .webSocket else { return }
            connections[slot].phase = .closing
            write(Frame(close: code).bytes, slot)
            closeWhenSent(slot)
        case .closePending:
            // Both sides close at the same time. The server's frame is still sent, at the end of this turn.
            connections[slot].closesWhenSent = true
        case .closing: closeWhenSent(slot)
        case .proxyHeader, .http, .lingering, .dropped: break
        }
    }

    /// The client has violated the protocol. The server closes after its close frame: it cannot read the client's.
    func fail(_ slot: Int, _ code: UInt16, _ reason: String) {
        guard connections[slot].phase == .webSocket, let code = CloseCode(rawValue: code) else { return }
        connections[slot].hasFailed = true
        close(connections[slot].socket, code, reason: reason)
    }

    /// Closes the TCP connection once the outbox is sent.
    private func closeWhenSent(_ slot: Int) {
        guard connections[slot].isFull else { return drop(slot) }
        connections[slot].closesWhenSent = true
        if connections[slot].deadline.kind != .outbox { deadlines.set(.outbox, slot, &connections) }
    }

    func sendClose(_ frame: CloseFrame, _ slot: Int) {
        delegate.closing(with: frame.code)
        leave(slot)
        let phase = connections[slot].phase
        guard phase == .closePending || phase == .closing && connections[slot].isSlow else { return }
        connections[slot].phase = .closing
        write(Frame(close: frame.code.rawValue, reason: frame.reason).bytes, slot)
        guard connections[slot].phase == .closing else { return }
        deadlines.set(connections[slot].isFull ? .outbox : .close, slot, &connections)
        if connections[slot].hasFailed {
            connections[slot].phase = .lingering
            if !connections[slot].isFull { endSending(slot) }
        } else if connections[slot].closesWhenSent {
            closeWhenSent(slot)
        }
    }

    /// Tells the delegate that a WebSocket is closed, once.
    func leave(_ slot: Int) {
        guard connections[slot].isAdmitted else { return }
        connections[slot].isAdmitted = false
        delegate.closed(connections[slot].socket)
    }

    /// Ends a connection at the end of this turn or a later one (see ``Agenda``), whatever is unsent. The delegate is told then, and
    /// not now: it may be the one that is just writing.
    func drop(_ slot: Int) {
        guard connections[slot].phase != .dropped else { return }
        connections[slot].phase = .dropped
        discardOutbox(slot)  // now, because the close may have to wait for later turns
        updateReading(slot)  // so that it is not reported as readable until it is closed
        agenda.add(.drop(connections[slot].socket), .change)
    }
}
