import CLibwebsockets
import HTTP

/// libwebsockets' HTTP callbacks: requests and responses. An `Int32` result is 0, or -1 to make libwebsockets close the
/// connection.
extension EventLoop {
    func requestHeadReceived(_ wsi: OpaquePointer) -> Int32 {
        let head: RequestHead
        do throws(RequestHead.FramingError) {
            head = try RequestHead(wsi, bodyBytesMax: options.requestBodyBytesMax)
        } catch {
            metrics.add(to: .httpRequests)
            write(
                delegate.errorResponse(error.status, error.text, path: error.path), to: wsi,
                correlationID: correlationIDs.id(of: wsi),
                withoutBody: HeaderTable.length(WSI_TOKEN_HEAD_URI, wsi) > 0, closing: true)
            return -1
        }
        // A body that is too large or of unknown length is not read. The delegate still gets the request, because it
        // responds 401 or 403 rather than 413 or 411 to a client without access.
        guard head.exceededBodyLimit == nil, !head.isLengthMissing else { return respond(to: head, [], wsi) }
        // A POST with Content-Length 0 is not responded to here: libwebsockets calls `requestCompleted` for it.
        guard head.contentLength > 0 || head.method == .post else { return respond(to: head, [], wsi) }
        if head.expectsContinue, head.contentLength > 0 {
            let interim = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
            guard clws_write_raw(wsi, interim, interim.count) >= 0 else { return -1 }
        }
        SocketTag.setState(.request(incomingRequests.add(head)), of: wsi)
        return 0
    }

    func requestBodyReceived(_ wsi: OpaquePointer, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        guard case .request(let index) = SocketTag(of: wsi).state else { return -1 }
        // Works around a libwebsockets bug: for the second of two pipelined requests it passes that request's head as
        // the body, again and again, because its buffer still begins with the bytes that it has parsed. It passes at
        // most Content-Length bytes, perhaps only the first letter of the method, so only the common length is
        // compared. No valid body begins like a method. Returning -1 closes the connection. This is safe: the client
        // repeats the requests that got no response (RFC 9112 section 9.3.2).
        if !bytes.isEmpty, let head = incomingRequests.headBeforeBody(index),
            Self.begins(bytes, with: head.method.rawValue + " ")
        {
            return -1
        }
        return incomingRequests.append(bytes, to: index) ? 0 : -1
    }

    func requestCompleted(_ wsi: OpaquePointer) -> Int32 {
        guard case .request(let index) = SocketTag(of: wsi).state, let request = incomingRequests.remove(index) else { return -1 }
        SocketTag.setState(.none, of: wsi)
        return respond(to: request.head, request.body, wsi)
    }

    /// An HTTP connection has closed, perhaps in the middle of a request or before its response.
    func requestAbandoned(_ wsi: OpaquePointer) -> Int32 {
        switch SocketTag(of: wsi).state {
        case .request(let index): _ = incomingRequests.remove(index)
        case .response(let index): pendingResponses.remove(at: index)
        case .none, .webSocket: return 0
        }
        SocketTag.setState(.none, of: wsi)
        return 0
    }

    private func respond(to head: RequestHead, _ body: [UInt8], _ wsi: OpaquePointer) -> Int32 {
        let query = HeaderTable.query(wsi)
        let correlationID = correlationIDs.id(of: wsi)
        // If the body is not read, the connection must close after the response: otherwise, libwebsockets would wait
        // for the body forever.
        let isBodyUnread = head.exceededBodyLimit != nil || head.isLengthMissing
        let pending = PendingResponses.PendingResponse(
            wsi: wsi, withoutBody: head.method == .head,
            isLast: isBodyUnread || drain != nil || Self.requestsClose(HeaderTable.text(WSI_TOKEN_CONNECTION, wsi)),
            correlationID: correlationID)
        let id = pendingResponses.add(pending)
        metrics.add(to: .httpRequests)
        metrics.add(body.count, to: .httpBytesReceived)
        // A loopback address does not identify a local client if a proxy on this machine forwards remote requests.
        let isLoopback =
            SocketTag(of: wsi).isLoopback && !options.isBehindProxy
            && HeaderTable.length(WSI_TOKEN_X_FORWARDED_FOR, wsi) == 0
        let response = body.withUnsafeBytes { bytes in
            delegate.respond(
                to: HTTPRequest(
                    method: head.method, path: head.path, query: query, field: { HeaderTable.field($0, wsi) },
                    correlationID: correlationID, isLoopback: isLoopback, body: bytes,
                    isLengthMissing: head.isLengthMissing,
                    exceededBodyLimit: head.exceededBodyLimit), id)
        }
        guard let response else {
            // Stop reading until the response is written: libwebsockets would treat a pipelined request as part of this
            // request's body.
            lws_rx_flow_control(wsi, 0)
            SocketTag.setState(.response(id.index), of: wsi)
            return 0
        }
        pendingResponses.remove(at: id.index)
        return write(response, for: pending) ? 0 : -1
    }

    /// Responds to a request for which ``EventLoopDelegate/respond(to:_:)`` returned nil. The response is written at
    /// the end of the turn, when no callback of libwebsockets is on the stack. Does nothing if the connection has
    /// closed.
    package func respond(_ response: HTTPResponse, to id: RequestID) { responses.append((id, response)) }

    /// Writes the responses that other threads have supplied in this turn.
    func writeResponses() {
        let responses = responses
        self.responses.removeAll(keepingCapacity: true)
        for (id, response) in responses {
            guard let pending = pendingResponses.remove(id) else { continue }
            SocketTag.setState(.none, of: pending.wsi)
            lws_rx_flow_control(pending.wsi, 1)
            if !write(response, for: pending) { clws_kill_now(pending.wsi) }
        }
    }

    /// - Returns: whether the connection stays open; if false, the caller closes it.
    private func write(_ response: HTTPResponse, for pending: PendingResponses.PendingResponse) -> Bool {
        let wsi = pending.wsi
        let isWritten = write(
            response, to: wsi, correlationID: pending.correlationID, withoutBody: pending.withoutBody, closing: pending.isLast)
        guard isWritten else { return false }
        // The last response closes the connection at once if libwebsockets has no bytes left to send. If it has some,
        // the connection stays open until they are sent; then libwebsockets closes it, or the client does.
        if pending.isLast, lws_partial_buffered(wsi) == 0 { return false }
        return lws_http_transaction_completed(wsi) == 0
    }

    /// Writes head and body with one system call, because system calls dominate the cost.
    /// - Returns: false if the connection is broken.
    @discardableResult
    func write(
        _ response: HTTPResponse, to wsi: OpaquePointer, correlationID: String, withoutBody: Bool, closing: Bool
    ) -> Bool {
        responseBytes.removeAll(keepingCapacity: true)
        response.write(to: &responseBytes, correlationID: correlationID, withoutBody: withoutBody, closing: closing)
        metrics.add(responseBytes.count, to: .httpBytesSent)
        return clws_write_raw(wsi, responseBytes, responseBytes.count) >= 0
    }

    /// Whether the `Connection` header, a list (RFC 9110 section 7.6.1), contains `close`.
    private static func requestsClose(_ connection: String?) -> Bool {
        guard let connection else { return false }
        return connection.lowercased().split(whereSeparator: { $0 == "," || $0 == " " }).contains("close")
    }

    /// Whether `bytes` and `text` agree up to the length of the shorter one, ignoring case: libwebsockets ignores the
    /// case of methods.
    private static func begins(_ bytes: UnsafeRawBufferPointer, with text: String) -> Bool {
        zip(bytes, text.utf8).allSatisfy { $0 | 0x20 == $1 | 0x20 }
    }
}
