import CLibwebsockets
import HTTP

/// libwebsockets' callbacks: connections and WebSocket messages. An `Int32` result is 0, or -1 to make libwebsockets
/// close the connection.
extension EventLoop {
    static let libraryCallback: LibraryCallback = { wsi, reason, _, bytes, count in
        guard let wsi, let context = lws_get_context(wsi), let user = lws_context_user(context) else { return 0 }
        return Unmanaged<EventLoop>.fromOpaque(user)._withUnsafeGuaranteedRef { loop in
            loop.handle(reason, wsi, UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
        }
    }

    private func handle(_ reason: lws_callback_reasons, _ wsi: OpaquePointer, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        switch reason {
        case LWS_CALLBACK_RECEIVE: webSocketReceived(wsi, bytes)
        case LWS_CALLBACK_SERVER_WRITEABLE: webSocketWritable(wsi)
        case LWS_CALLBACK_RECEIVE_PONG: webSocketPonged(wsi)
        case LWS_CALLBACK_ESTABLISHED: webSocketOpened(wsi)
        case LWS_CALLBACK_CLOSED: webSocketClosed(wsi)
        case LWS_CALLBACK_HTTP: requestHeadReceived(wsi)
        case LWS_CALLBACK_HTTP_BODY: requestBodyReceived(wsi, bytes)
        case LWS_CALLBACK_HTTP_BODY_COMPLETION: requestCompleted(wsi)
        case LWS_CALLBACK_CLOSED_HTTP: requestAbandoned(wsi)
        case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: confirmUpgrade(wsi)
        case LWS_CALLBACK_WSI_DESTROY: destroyed()
        default: 0
        }
    }

    /// libwebsockets calls this for each connection that ends, HTTP or WebSocket.
    private func destroyed() -> Int32 {
        budget.release()
        return 0
    }

    // MARK: WebSockets

    /// Accepts an upgrade only if it is a GET for WebSocket version 13 (RFC 6455 section 4.2.1). libwebsockets checks
    /// neither the method nor the version, and would also accept an upgrade to `h2c`, unencrypted HTTP/2.
    private func confirmUpgrade(_ wsi: OpaquePointer) -> Int32 {
        let isWebSocket = HeaderTable.text(WSI_TOKEN_UPGRADE, wsi)?.lowercased() == "websocket"
        let isGet = HeaderTable.length(WSI_TOKEN_GET_URI, wsi) > 0
        if isWebSocket, isGet, HeaderTable.text(WSI_TOKEN_VERSION, wsi) == "13" { return 0 }
        let response = HTTPResponse.text(
            426, "Upgrade required: send GET with Upgrade: websocket and Sec-WebSocket-Version: 13",
            headers: ["Sec-WebSocket-Version": "13"])
        write(response, to: wsi, correlationID: correlationIDs.id(of: wsi), withoutBody: false, closing: true)
        return -1
    }

    private func webSocketOpened(_ wsi: OpaquePointer) -> Int32 {
        let socket = connections.add(wsi, loop: index)
        SocketTag.setState(.webSocket(socket.slot), of: wsi)
        let request = UpgradeRequest(
            path: HeaderTable.path(WSI_TOKEN_GET_URI, wsi), query: HeaderTable.query(wsi),
            origin: HeaderTable.text(WSI_TOKEN_ORIGIN, wsi), isSecure: isSecure(wsi))
        guard drain == nil else {
            close(socket, Self.restart.code, reason: Self.restart.reason)
            return 0
        }
        switch delegate.opened(socket, request) {
        case .admitted(let messageBytesMax, let outboxBytesMax):
            connections[socket.slot].isAdmitted = true
            connections[socket.slot].messageBytesMax = Int32(clamping: messageBytesMax)
            connections[socket.slot].outboxBytesMax = Int32(clamping: outboxBytesMax)
        case .rejected(let code, let reason, let frame):
            if let frame { write(frame, to: socket) }
            close(socket, code, reason: reason)
        }
        return 0
    }

    /// Whether the client uses TLS: with this server or, according to `X-Forwarded-Proto`, with the proxy in front of
    /// this server.
    private func isSecure(_ wsi: OpaquePointer) -> Bool {
        if options.tls != nil { return true }
        return options.isBehindProxy && HeaderTable.custom("x-forwarded-proto:", wsi)?.lowercased() == "https"
    }

    private func webSocketPonged(_ wsi: OpaquePointer) -> Int32 {
        guard case .webSocket(let slot) = SocketTag(of: wsi).state, connections[slot].isAdmitted else { return 0 }
        delegate.ponged(from: connections[slot].socket)
        return 0
    }

    private func webSocketReceived(_ wsi: OpaquePointer, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        guard case .webSocket(let slot) = SocketTag(of: wsi).state else { return -1 }
        metrics.add(bytes.count, to: .bytesReceived)
        let connection = connections[slot]
        guard connection.state == .open, connection.isAdmitted else { return 0 }
        if lws_frame_is_binary(wsi) != 0 {
            close(connection.socket, .binaryRefused, reason: "Binary frames are not supported: send text")
            return 0
        }
        let received = partialMessages[slot]?.count ?? 0
        guard received + bytes.count <= connection.messageBytesMax else {
            partialMessages[slot] = nil
            let reason = "Message too long: the limit is \(connection.messageBytesMax) bytes"
            close(connection.socket, .messageTooLong, reason: reason)
            return 0
        }
        if lws_is_final_fragment(wsi) == 0 {
            partialMessages[slot, default: []].append(contentsOf: bytes)
            return 0
        }
        metrics.add(to: .messagesReceived)
        if var message = partialMessages.removeValue(forKey: slot) {
            message.append(contentsOf: bytes)
            message.withUnsafeBytes { delegate.received($0, from: connection.socket) }
        } else {
            delegate.received(bytes, from: connection.socket)
        }
        return 0
    }

    private func webSocketWritable(_ wsi: OpaquePointer) -> Int32 {
        if case .webSocket(let slot) = SocketTag(of: wsi).state { writable(slot) }
        return 0
    }

    /// libwebsockets may call this for a WebSocket that never opened.
    private func webSocketClosed(_ wsi: OpaquePointer) -> Int32 {
        guard case .webSocket(let slot) = SocketTag(of: wsi).state else { return 0 }
        SocketTag.setState(.none, of: wsi)
        let connection = connections[slot]
        connections[slot].state = .closing
        if connection.isAdmitted { delegate.closed(connection.socket) }
        remove(slot)
        return 0
    }
}
