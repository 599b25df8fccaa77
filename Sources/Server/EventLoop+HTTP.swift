import CLibwebsockets
import HTTPAPI

/// Requests whose bodies are on their way. Places are reused.
struct RequestTable {
    struct Request {
        let head: RequestHead
        var body: [UInt8] = []
    }

    private var requests: [Request?] = []
    private var vacant: [Int] = []

    mutating func add(_ head: RequestHead) -> Int {
        let index = vacant.popLast() ?? requests.count
        if index == requests.count { requests.append(nil) }
        requests[index] = Request(head: head)
        requests[index]?.body.reserveCapacity(head.contentLength)
        return index
    }

    /// Appends a chunk; false when it holds more than was announced.
    mutating func append(_ bytes: UnsafeRawBufferPointer, to index: Int) -> Bool {
        guard let request = requests[index], request.body.count + bytes.count <= request.head.contentLength else { return false }
        requests[index]?.body.append(contentsOf: bytes)
        return true
    }

    func isEmpty(_ index: Int) -> Bool { requests[index]?.body.isEmpty ?? true }

    mutating func remove(_ index: Int) -> Request? {
        defer {
            requests[index] = nil
            vacant.append(index)
        }
        return requests[index]
    }
}

/// HTTP: from the library's callbacks to requests and answers.
extension EventLoop {
    func requestBegan(_ wsi: OpaquePointer) -> Int32 {
        let head: RequestHead
        do throws(RequestHead.Refusal) {
            head = try RequestHead(wsi, bodyBytesMax: options.requestBodyBytesMax)
        } catch {
            write(error.response, to: wsi, withoutBody: false, closing: true)
            return -1
        }
        // A POST with a Content-Length of 0 is completed by the library's own call.
        guard head.contentLength > 0 || head.method == .post else { return answer(head, [], wsi) }
        if head.expectsContinue, head.contentLength > 0 {
            let goOn = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
            guard clws_write_raw(wsi, goOn, goOn.count) >= 0 else { return -1 }
        }
        Word(isLoopback: Word(of: wsi).isLoopback, role: .request(requests.add(head))).store(in: wsi)
        return 0
    }

    func requestBody(_ wsi: OpaquePointer, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        guard case .request(let index) = Word(of: wsi).role else { return -1 }
        // Of pipelined requests the library hands us the second one's head as its body, for ever if it is let: the
        // bytes it has buffered still begin with what it has parsed already. No body we take begins like that. Closing
        // without an answer has the client send again what was not answered (RFC 9112 section 9.3.2).
        if requests.isEmpty(index), Self.beginsWithRequestLine(bytes) { return -1 }
        return requests.append(bytes, to: index) ? 0 : -1
    }

    func requestCompleted(_ wsi: OpaquePointer) -> Int32 {
        guard case .request(let index) = Word(of: wsi).role, let request = requests.remove(index) else { return -1 }
        Word(isLoopback: Word(of: wsi).isLoopback, role: .none).store(in: wsi)
        return answer(request.head, request.body, wsi)
    }

    /// The connection has gone before its request was whole, or after its answer.
    func requestAbandoned(_ wsi: OpaquePointer) -> Int32 {
        if case .request(let index) = Word(of: wsi).role {
            _ = requests.remove(index)
            Word(isLoopback: false, role: .none).store(in: wsi)
        }
        return 0
    }

    private func answer(_ head: RequestHead, _ body: [UInt8], _ wsi: OpaquePointer) -> Int32 {
        let query = Header.query(wsi)
        let authorization = Header.text(WSI_TOKEN_HTTP_AUTHORIZATION, wsi)
        tally.requests += 1
        tally.requestBytes += body.count
        let response = body.withUnsafeBytes { bytes in
            owner.answer(
                HTTPRequest(
                    method: head.method, path: head.path, query: query, authorization: authorization,
                    origin: Header.text(WSI_TOKEN_ORIGIN, wsi), isLoopback: Word(of: wsi).isLoopback, body: bytes))
        }
        guard write(response, to: wsi, withoutBody: head.method == .head, closing: false) else { return -1 }
        return lws_http_transaction_completed(wsi) == 0 ? 0 : -1
    }

    /// One write for head and body: what it costs is the system call.
    @discardableResult
    func write(_ response: HTTPResponse, to wsi: OpaquePointer, withoutBody: Bool, closing: Bool) -> Bool {
        responseBytes.removeAll(keepingCapacity: true)
        response.write(to: &responseBytes, withoutBody: withoutBody, closing: closing)
        tally.responseBytes += responseBytes.count
        return clws_write_raw(wsi, responseBytes, responseBytes.count) >= 0
    }

    /// `METHOD /`: at least three capitals, a space, a slash.
    private static func beginsWithRequestLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let method = bytes.prefix { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        return method.count >= 3 && bytes[method.endIndex...].starts(with: " /".utf8)
    }
}
