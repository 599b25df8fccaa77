import HTTP1

/// Reads the responses of one HTTP/1.1 connection, which arrive in any pieces (RFC 9112 sections 4 and 6).
struct ResponseReader {
    struct Response: Equatable {
        let status: Int
        var body: [UInt8] = []
        /// Whether the server closes the connection after the response.
        var closesConnection = false
    }

    /// The response breaks the protocol, or this reader's limits.
    struct Failure: Error, Equatable { let reason: String }

    private static let headBytesMax = 32_768
    private static let bodyBytesMax = 4_194_304

    /// The bytes of the response so far.
    private var bytes: [UInt8] = []
    private var body: Body?

    /// A response whose head is read; `bytes` begins with the body.
    private struct Body {
        var response: Response
        /// How the body ends.
        enum End {
            case after(Int)
            case chunks(ChunkedDecoder)
        }
        var end: End
    }

    /// Whether a response has begun and not ended.
    var isIdle: Bool { bytes.isEmpty && body == nil }

    /// Takes what has arrived.
    /// - Returns: the response, once it is complete. There is at most one, because each connection has at most one
    ///   request under way.
    mutating func read(_ received: UnsafeRawBufferPointer) throws(Failure) -> Response? {
        bytes.append(contentsOf: received)
        if body == nil {
            guard let end = headEnd else {
                guard bytes.count <= Self.headBytesMax else { throw Failure(reason: "the response's head is too long") }
                return nil
            }
            body = try Self.parse(head: String(decoding: bytes[..<end], as: UTF8.self))
            bytes.removeFirst(end + 4)
        }
        return try readBody()
    }

    private mutating func readBody() throws(Failure) -> Response? {
        guard var current = body else { return nil }
        var rest: Int
        switch current.end {
        case .after(let length):
            guard bytes.count >= length else { return nil }
            current.response.body = Array(bytes.prefix(length))
            rest = bytes.count - length
        case .chunks(var decoder):
            let result = bytes.withUnsafeMutableBytes { decoder.decode($0) }
            switch result {
            case .incomplete:
                bytes.removeLast(bytes.count - decoder.bodyCount)
                current.end = .chunks(decoder)
                body = current
                return nil
            case .complete(let end):
                current.response.body = Array(bytes.prefix(decoder.bodyCount))
                rest = bytes.count - end
            case .invalid: throw Failure(reason: "the response's chunks are invalid")
            }
        }
        guard rest == 0 else { throw Failure(reason: "a response came without a request") }
        bytes.removeAll(keepingCapacity: true)
        body = nil
        return current.response
    }

    /// The index of the empty line after the head.
    private var headEnd: Int? {
        guard bytes.count >= 4 else { return nil }
        return (0...(bytes.count - 4)).first { bytes[$0...].starts(with: [13, 10, 13, 10]) }
    }

    private static func parse(head: String) throws(Failure) -> Body {
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)
        guard let status = Self.status(of: lines[0]), status >= 200 else {
            throw Failure(reason: "the response does not begin with an HTTP/1.1 status")
        }
        var response = Response(status: status)
        var end = Body.End.after(0)
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let value = parts[1].drop { $0 == " " }.lowercased()
            switch parts[0].lowercased() {
            case "content-length":
                guard let length = Int(value), 0...bodyBytesMax ~= length else {
                    throw Failure(reason: "the response's length is invalid or too large")
                }
                end = .after(length)
            case "transfer-encoding" where value == "chunked": end = .chunks(ChunkedDecoder(bodyBytesMax: bodyBytesMax))
            case "connection" where value == "close": response.closesConnection = true
            default: break
            }
        }
        return Body(response: response, end: end)
    }

    /// The status in a status line; nil if the line is none.
    static func status(of line: Substring) -> Int? {
        let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0] == "HTTP/1.1", parts[1].utf8.count == 3 else { return nil }
        return Int(parts[1])
    }
}
