import Crypto
import HTTP
import HTTP1
import Threads
import WebSocketFraming

/// HTTP/1.1 requests: each is read, decided on when its head is complete, and responded to in the order of arrival.
extension EventLoop {
    /// The largest body that is read only to be discarded, in bytes, so that the connection can go on after an early
    /// response. After a larger one, it closes.
    private static let discardedBodyBytesMax = 65_536

    /// The stage of a connection whose next request is awaited.
    var nextHead: RequestReading.Stage { .head(RequestHeadParser(headBytesMax: options.headBytesMax)) }

    func requestBytesReceived(_ bytes: UnsafeMutableRawBufferPointer, _ slot: Int) {
        var reading = takeReading(slot) ?? RequestReading(nextHead)
        guard reading.bytes.isEmpty else {
            reading.bytes.append(contentsOf: bytes)
            reading.readAt = Clock.monotonicNanoseconds()
            return readBuffered(&reading, slot)
        }
        reading.readAt = Clock.monotonicNanoseconds()
        let count = read(bytes, &reading, slot)
        reading.bytes = Array(bytes[count...].prefix(reading.decodedBytesMax))
        keep(reading, slot)
    }

    /// Reads the requests that have arrived while the connection waited.
    func continueRequests(_ slot: Int) {
        guard connections[slot].phase == .http, !connections[slot].awaitsResponse, !connections[slot].awaitsTurn,
            var reading = takeReading(slot)
        else { return }
        connections[slot].hasRest = false
        readBuffered(&reading, slot)
    }

    func readBuffered(_ reading: inout RequestReading, _ slot: Int) {
        var bytes: [UInt8] = []
        swap(&bytes, &reading.bytes)
        let count = bytes.withUnsafeMutableBytes { read($0, &reading, slot) }
        // A body arrives in many pieces: its bytes are moved only when something before them is done with.
        if count > 0 { bytes.removeFirst(count) }
        if bytes.count > reading.decodedBytesMax { bytes.removeLast(bytes.count - reading.decodedBytesMax) }
        reading.bytes = bytes
        keep(reading, slot)
    }

    /// Reads requests as far as the bytes reach, or until one has to wait.
    /// - Returns: the number of bytes that are done with.
    private func read(_ bytes: UnsafeMutableRawBufferPointer, _ reading: inout RequestReading, _ slot: Int) -> Int {
        var start = 0
        var isFirst = true
        // Without bytes it has nothing to wait for: a client that sends one request at a time is always read at once.
        while canRead(slot), isFirst || start < bytes.count {
            guard isFirst || clock() < visitEnd else {
                connections[slot].hasRest = true
                wait(slot, .bulk)
                break
            }
            isFirst = false
            let region = UnsafeMutableRawBufferPointer(rebasing: bytes[start...])
            guard let count = readNext(region, &reading, slot) else { break }
            start += count
            if replies.byteCount > Self.gatheredBytesMax { sendReplies() }
        }
        // These requests come before what the client has sent behind them, which may be its end of the stream.
        if connections[slot].isFull, start < bytes.count { connections[slot].hasRest = true }
        guard connections[slot].phase == .http else {
            // A client may send frames together with its upgrade request, although it should wait for the response.
            if start < bytes.count { handle(UnsafeMutableRawBufferPointer(rebasing: bytes[start...]), slot) }
            return bytes.count
        }
        return start
    }

    private func canRead(_ slot: Int) -> Bool {
        let connection = connections[slot]
        return connection.phase == .http && !connection.awaitsResponse && !connection.awaitsTurn && !connection.isFull
    }

    /// Reads one step of the current request.
    /// - Returns: the bytes of the region that are done with; nil if more are needed, or the request has to wait.
    private func readNext(_ region: UnsafeMutableRawBufferPointer, _ reading: inout RequestReading, _ slot: Int) -> Int? {
        switch reading.stage {
        case .head(var parser):
            guard !region.isEmpty else { return nil }
            switch parser.parse(UnsafeRawBufferPointer(region)) {
            case .incomplete:
                reading.stage = .head(parser)
                return nil
            case .invalid(let error):
                reject(error, parser.head, UnsafeRawBufferPointer(region), slot)
                return nil
            case .complete(let head): return begin(head, region, &reading, slot)
            }
        case .body(let head, let id, let body): return readBody(head, id, body, region, &reading, slot)
        case .discarding(let count):
            let available = min(count, region.count)
            reading.stage = available == count ? nextHead : .discarding(count - available)
            return available == 0 && count > 0 ? nil : available
        case .decided(let head, let id, let decision): return apply(decision, head, id, region, &reading, slot)
        case .undecided, .responding: return nil
        }
    }

    // MARK: Heads

    private func begin(
        _ head: RequestHead, _ region: UnsafeMutableRawBufferPointer, _ reading: inout RequestReading, _ slot: Int
    ) -> Int? {
        deadlines.cancel(slot, &connections)  // The head arrived in time; `keep` sets the next deadline.
        var head = head
        head.removePathPrefix(options.pathPrefix, from: UnsafeRawBufferPointer(region))
        if head.isWebSocketUpgrade {
            let request = self.request(head, UnsafeRawBufferPointer(region), slot)
            if delegate.opensWebSocket(request) {
                upgrade(request, slot)
                return head.byteCount
            }
        }
        let request = self.request(
            head, UnsafeRawBufferPointer(region), correlationID: correlationIDs.id(of: head, in: UnsafeRawBufferPointer(region)),
            slot)
        let id = pendingResponses.add(
            PendingResponses.PendingResponse(
                slot: slot, withoutBody: head.method == .head, isHTTP11: head.isHTTP11,
                isLast: !head.keepsAlive || drain != nil,
                measured: MeasuredRequest(
                    method: head.method, receivedAt: head.hasNoBody ? reading.readAt : nil,
                    correlationID: request.correlationID)))
        let (decision, endpoint, actor) = delegate.decide(on: request, id)
        pendingResponses.measure(id) { ($0.endpoint, $0.actor) = (endpoint, actor) }
        return apply(decision, head, id, region, &reading, slot)
    }

    /// - Returns: the bytes of the region that are done with; nil if the request has to wait.
    private func apply(
        _ decision: HeadDecision, _ head: RequestHead, _ id: RequestID, _ region: UnsafeMutableRawBufferPointer,
        _ reading: inout RequestReading, _ slot: Int
    ) -> Int? {
        switch decision {
        case .respond(let response): return respondEarly(response, head, id, &reading, slot)
        case .wait:
            reading.stage = .undecided(head, id)
            connections[slot].awaitsResponse = true
            return nil
        case .readBody(let bytesMax):
            if !head.hasNoBody, let coding = head[.contentEncoding], !region.isIdentity(coding) {
                let request = self.request(head, UnsafeRawBufferPointer(region), slot)
                delegate.abandoned(id)
                let refusal = delegate.errorResponse(415, "Unsupported Content-Encoding: send the body as it is", to: request)
                return respondEarly(refusal.adding(["Accept-Encoding": "identity"]), head, id, &reading, slot)
            }
            switch head.bodyFraming {
            case .none: return readBody(head, id, .length(0), region, &reading, slot)
            case .length(let length) where length > bytesMax:
                rejectBody(RequestError(413, "The body exceeds the allowed maximum (\(bytesMax) bytes)"), head, id, region, slot)
                return nil
            case .length(let length):
                continueIfExpected(head, bytesPresent: region.count - head.byteCount, slot)
                return readBody(head, id, .length(length), region, &reading, slot)
            case .chunked:
                continueIfExpected(head, bytesPresent: region.count - head.byteCount, slot)
                return readBody(head, id, .chunked(ChunkedDecoder(bodyBytesMax: bytesMax)), region, &reading, slot)
            }
        }
    }

    /// Responds to a request without its body. The body is discarded if its end is known and near.
    private func respondEarly(
        _ response: HTTPResponse, _ head: RequestHead, _ id: RequestID, _ reading: inout RequestReading, _ slot: Int
    ) -> Int {
        let length =
            switch head.bodyFraming {
            case .none: 0
            case .length(let length): length
            case .chunked: Int.max
            }
        // The refusal depends on no further byte.
        pendingResponses.measure(id) { $0.receivedAt = reading.readAt }
        // A client that waits for 100 Continue may send the body all the same, or not: its next byte is ambiguous.
        let isReadable = length == 0 || length <= Self.discardedBodyBytesMax && !head.expectsContinue
        if !isReadable { pendingResponses.setLast(id) }
        reading.stage = length == 0 || !isReadable ? nextHead : .discarding(length)
        finish(response, id)
        return head.byteCount
    }

    /// Sends the interim response that the client waits for, unless the body is already arriving.
    private func continueIfExpected(_ head: RequestHead, bytesPresent: Int, _ slot: Int) {
        guard head.expectsContinue, bytesPresent == 0 else { return }
        replies.append(to: connections[slot].socket, ResponseEncoder.writeContinue)
    }

    /// Opens a WebSocket if the request is a complete opening handshake (RFC 6455 section 4.2).
    private func upgrade(_ request: HTTPRequest, _ slot: Int) {
        let (head, bytes) = (request.head, request.bytes)
        let handshake = WebSocketUpgrade(
            version: head[.secWebSocketVersion].map { bytes[$0] }, key: head[.secWebSocketKey].map { bytes[$0] })
        switch handshake {
        case .accepted(let text) where head.method == .get && head.isHTTP11 && head.hasNoBody:
            let client = client(of: request, slot)
            guard admitForwarded(client, slot) else {
                return respondLast(429, "Too many connections from your address: try again later", request, slot)
            }
            openWebSocket(slot, request, client, accept: Base64.text(SHA1.digest(of: text)))
        case .accepted, .unsupportedVersion:
            let text = "Upgrade required: send GET with Upgrade: websocket and Sec-WebSocket-Version: 13"
            respondLast(426, text, headers: ["Upgrade": "websocket", "Sec-WebSocket-Version": "13"], request, slot)
        case .invalidKey: respondLast(400, "Invalid Sec-WebSocket-Key: expected 16 bytes in base64", request, slot)
        }
    }

    // MARK: Bodies

    private func readBody(
        _ head: RequestHead, _ id: RequestID, _ body: RequestReading.Body, _ region: UnsafeMutableRawBufferPointer,
        _ reading: inout RequestReading, _ slot: Int
    ) -> Int? {
        let bytes = UnsafeMutableRawBufferPointer(rebasing: region[head.byteCount...])
        switch body {
        case .length(let length):
            guard bytes.count >= length else {
                reading.stage = .body(head, id, body)
                return nil
            }
            return complete(head, id, region, bodyCount: length, end: length, &reading, slot)
        case .chunked(var decoder):
            switch decoder.decode(bytes) {
            case .incomplete:
                reading.stage = .body(head, id, .chunked(decoder))
                return nil
            case .complete(let end):
                return complete(head, id, region, bodyCount: decoder.bodyCount, end: end, &reading, slot)
            case .invalid(let error):
                rejectBody(error, head, id, UnsafeMutableRawBufferPointer(region), slot)
                return nil
            }
        }
    }

    /// Gives a complete request to the delegate.
    private func complete(
        _ head: RequestHead, _ id: RequestID, _ region: UnsafeMutableRawBufferPointer, bodyCount: Int, end: Int,
        _ reading: inout RequestReading, _ slot: Int
    ) -> Int {
        metrics.add(bodyCount, to: .httpBytesReceived)
        pendingResponses.measure(id) { $0.receivedAt = reading.readAt }
        let bytes = UnsafeRawBufferPointer(region)
        let request = HTTPRequest(
            head: head, bytes: bytes, body: UnsafeRawBufferPointer(rebasing: bytes[head.byteCount...].prefix(bodyCount)),
            correlationID: pendingResponses[id]?.measured.correlationID ?? "", isLoopback: isLoopback(head, slot))
        reading.stage = nextHead
        if let response = delegate.respond(to: request, id) {
            finish(response, id)
        } else {
            reading.stage = .responding(id)
            connections[slot].awaitsResponse = true
        }
        return head.byteCount + end
    }

    // MARK: Waiting

    func takeReading(_ slot: Int) -> RequestReading? {
        guard !readings.isEmpty, let reading = readings.removeValue(forKey: slot) else { return nil }
        bufferedBytes -= reading.keptBytes
        return reading
    }

    /// Keeps what has arrived of the current request, and sets the deadline by which it must go on.
    private func keep(_ reading: RequestReading, _ slot: Int) {
        guard connections[slot].phase == .http else { return abandon(reading, slot) }
        let isBetweenRequests = reading.isBetweenRequests
        switch reading.stage {
        // The client does not read its response: what it has sent has to wait, and is not late.
        case _ where connections[slot].isFull || connections[slot].awaitsTurn: setDeadline(.idle, slot, restarts: false)
        case .head where !isBetweenRequests: setDeadline(.head, slot, restarts: false)
        // An empty line alone does not give the client more time.
        case .head where !reading.bytes.isEmpty && connections[slot].deadline.kind == .head: break
        case .head: setDeadline(.idle, slot, restarts: reading.bytes.isEmpty)
        case .body, .discarding: setDeadline(.body, slot, restarts: false)
        case .undecided, .decided, .responding: deadlines.cancel(slot, &connections)
        }
        updateReading(slot)
        guard !isBetweenRequests else { return }
        var reading = reading
        if bufferedBytes + reading.keptBytes > options.bufferedBytesMax {
            guard case .responding(let id) = reading.stage else { return rejectForMemory(reading, slot) }
            // The request is already being carried out: its response is sent, and the connection closes after it.
            delegate.limitReached(.bufferBytes)
            pendingResponses.setLast(id)
            reading.bytes = []
        }
        bufferedBytes += reading.keptBytes
        readings[slot] = reading
    }

    /// Forgets a request that the delegate need not respond to any more.
    /// - Returns: what is counted of it; nil if none is pending.
    func forget(_ reading: RequestReading) -> MeasuredRequest? {
        guard let id = reading.request, let pending = pendingResponses.remove(id) else { return nil }
        delegate.abandoned(id)
        return pending.measured
    }

    /// Forgets a request whose connection has ended.
    func abandon(_ reading: RequestReading, _ slot: Int) {
        if let request = forget(reading) { countAbandoned(request, slot) }
    }

    /// - Parameter restarts: whether a deadline of the same kind starts again. It does not when a byte of a head or body
    ///   arrives: otherwise a client could send one forever.
    private func setDeadline(_ kind: Deadlines.Kind, _ slot: Int, restarts: Bool) {
        if restarts || connections[slot].deadline.kind != kind { deadlines.set(kind, slot, &connections) }
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Whether the value of `Content-Encoding` says that the body is not encoded (RFC 9110 section 8.4).
    fileprivate func isIdentity(_ coding: ByteRange) -> Bool {
        let value = UnsafeRawBufferPointer(self)[coding]
        return value.isEmpty || value.equalsIgnoringCase("identity")
    }
}
