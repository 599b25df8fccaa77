import CLibwebsockets
import HTTP

/// HTTP: from the library's callbacks to requests and answers.
extension EventLoop {
    func requestBegan(_ wsi: OpaquePointer) -> Int32 {
        let head: RequestHead
        do throws(RequestHead.FramingError) {
            head = try RequestHead(wsi, bodyBytesMax: options.requestBodyBytesMax)
        } catch {
            counters.add(to: .httpRequests)
            write(
                delegate.refusal(error.status, error.text, path: error.path), to: wsi, correlationID: correlationIDs.id(of: wsi),
                withoutBody: HeaderTable.length(WSI_TOKEN_HEAD_URI, wsi) > 0, closing: true)
            return -1
        }
        // Who may not do it anyway hears that first: the owner answers without the body.
        guard head.bodyBytesMax == nil, !head.isLengthMissing else { return answer(head, [], wsi) }
        // A POST with a Content-Length of 0 is completed by the library's own call.
        guard head.contentLength > 0 || head.method == .post else { return answer(head, [], wsi) }
        if head.expectsContinue, head.contentLength > 0 {
            let goOn = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
            guard clws_write_raw(wsi, goOn, goOn.count) >= 0 else { return -1 }
        }
        SocketTag(isLoopback: SocketTag(of: wsi).isLoopback, role: .request(incomingRequests.add(head))).store(in: wsi)
        return 0
    }

    func requestBody(_ wsi: OpaquePointer, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        guard case .request(let index) = SocketTag(of: wsi).owner else { return -1 }
        // Of pipelined requests the library hands us the second one's head as its body, for ever if it is let: the
        // bytes it has buffered still begin with what it has parsed already. It hands over no more than the body's length of
        // them, so a single capital has to be enough. No body we take begins like that. Closing without an answer has the
        // client send again what was not answered (RFC 9112 section 9.3.2).
        if !bytes.isEmpty, let head = incomingRequests.headOfUnbegun(index), Self.begins(bytes, like: head.method.rawValue + " ")
        {
            return -1
        }
        return incomingRequests.append(bytes, to: index) ? 0 : -1
    }

    func requestCompleted(_ wsi: OpaquePointer) -> Int32 {
        guard case .request(let index) = SocketTag(of: wsi).owner, let request = incomingRequests.remove(index) else { return -1 }
        SocketTag(isLoopback: SocketTag(of: wsi).isLoopback, role: .none).store(in: wsi)
        return answer(request.head, request.body, wsi)
    }

    /// The connection has gone before its request was whole, or after its answer.
    func requestAbandoned(_ wsi: OpaquePointer) -> Int32 {
        switch SocketTag(of: wsi).owner {
        case .request(let index): _ = incomingRequests.remove(index)
        case .response(let index): pendingResponses.remove(at: index)
        case .none, .webSocket: return 0
        }
        SocketTag(isLoopback: false, role: .none).store(in: wsi)
        return 0
    }

    private func answer(_ head: RequestHead, _ body: [UInt8], _ wsi: OpaquePointer) -> Int32 {
        let query = HeaderTable.query(wsi)
        let correlationID = correlationIDs.id(of: wsi)
        // The library would wait for a body that nobody announced, for ever.
        let isUnread = head.bodyBytesMax != nil || head.isLengthMissing
        let exchange = PendingResponses.PendingResponse(
            wsi: wsi, withoutBody: head.method == .head,
            isLast: isUnread || drain != nil || Self.asksToClose(HeaderTable.text(WSI_TOKEN_CONNECTION, wsi)),
            correlationID: correlationID)
        let id = pendingResponses.add(exchange)
        counters.add(to: .httpRequests)
        counters.add(body.count, to: .httpBytesReceived)
        let isLoopback = SocketTag(of: wsi).isLoopback
        // A proxy in front makes everybody seem to be on this machine.
        let isFromThisMachine = isLoopback && !options.isBehindProxy && HeaderTable.length(WSI_TOKEN_X_FORWARDED_FOR, wsi) == 0
        let response = body.withUnsafeBytes { bytes in
            delegate.answer(
                HTTPRequest(
                    method: head.method, path: head.path, query: query, field: { HeaderTable.field($0, wsi) },
                    correlationID: correlationID, isLoopback: isFromThisMachine, body: bytes,
                    isLengthMissing: head.isLengthMissing,
                    bodyBytesMax: head.bodyBytesMax), id)
        }
        guard let response else {
            // Nothing is read meanwhile: the library would take a pipelined request for more of this one's body.
            lws_rx_flow_control(wsi, 0)
            SocketTag(isLoopback: isLoopback, role: .response(id.index)).store(in: wsi)
            return 0
        }
        pendingResponses.remove(at: id.index)
        return write(response, in: exchange) ? 0 : -1
    }

    /// Answers a request that was to be answered later, at the end of the turn, when no callback of the library is on the
    /// stack; ignored when its connection has gone by then.
    package func respond(_ response: HTTPResponse, to id: RequestID) { answers.append((id, response)) }

    func writeAnswers() {
        let answers = answers
        self.answers.removeAll(keepingCapacity: true)
        for (id, response) in answers {
            guard let exchange = pendingResponses.remove(id) else { continue }
            SocketTag(isLoopback: SocketTag(of: exchange.wsi).isLoopback, role: .none).store(in: exchange.wsi)
            lws_rx_flow_control(exchange.wsi, 1)
            if !write(response, in: exchange) { clws_kill_now(exchange.wsi) }
        }
    }

    /// False when the connection has to be closed now.
    private func write(_ response: HTTPResponse, in exchange: PendingResponses.PendingResponse) -> Bool {
        let wsi = exchange.wsi
        let isWritten = write(
            response, to: wsi, correlationID: exchange.correlationID, withoutBody: exchange.withoutBody, closing: exchange.isLast)
        guard isWritten else { return false }
        // What is still buffered has to go first; the library closes after it, or the peer does as it was told.
        if exchange.isLast, lws_partial_buffered(wsi) == 0 { return false }
        return lws_http_transaction_completed(wsi) == 0
    }

    /// One write for head and body: what it costs is the system call.
    @discardableResult
    func write(
        _ response: HTTPResponse, to wsi: OpaquePointer, correlationID: String, withoutBody: Bool, closing: Bool
    ) -> Bool {
        responseBytes.removeAll(keepingCapacity: true)
        response.write(to: &responseBytes, correlationID: correlationID, withoutBody: withoutBody, closing: closing)
        counters.add(responseBytes.count, to: .httpBytesSent)
        return clws_write_raw(wsi, responseBytes, responseBytes.count) >= 0
    }

    /// `Connection` is a list (RFC 9110 section 7.6.1).
    private static func asksToClose(_ connection: String?) -> Bool {
        guard let connection else { return false }
        return connection.lowercased().split(whereSeparator: { $0 == "," || $0 == " " }).contains("close")
    }

    /// Whether as many bytes as both have are the same, in any case: the library reads methods so.
    private static func begins(_ bytes: UnsafeRawBufferPointer, like text: String) -> Bool {
        zip(bytes, text.utf8).allSatisfy { $0 | 0x20 == $1 | 0x20 }
    }
}
