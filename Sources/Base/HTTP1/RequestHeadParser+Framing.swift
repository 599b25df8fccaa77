import HTTP

/// What `Connection`, `Upgrade` and `Transfer-Encoding` say. A request may have several lines of the first two.
struct ConnectionOptions {
    var closes = false
    var keepsAlive = false
    var upgrades = false
    var isUpgradeToWebSocket = false
    var isChunked = false
}

/// The fields that decide where the body ends and what becomes of the connection (RFC 9112 sections 6 and 9).
extension RequestHeadParser {
    /// Reads a line of a field that concerns the connection; ignores the other fields.
    mutating func interpret(_ field: HTTPRequest.Field, _ value: UnsafeRawBufferPointer) throws(RequestError) {
        switch field {
        case .connection:
            for element in ListElements(rest: value) {
                switch element.count {
                case 5: if element.equalsIgnoringCase("close") { options.closes = true }
                case 7: if element.equalsIgnoringCase("upgrade") { options.upgrades = true }
                case 10: if element.equalsIgnoringCase("keep-alive") { options.keepsAlive = true }
                default: break
                }
            }
        case .upgrade:
            for element in ListElements(rest: value) where element.count == 9 && element.equalsIgnoringCase("websocket") {
                options.isUpgradeToWebSocket = true
            }
        case .expect:
            for element in ListElements(rest: value) where element.count == 12 && element.equalsIgnoringCase("100-continue") {
                head.expectsContinue = true
            }
        case .transferEncoding: options.isChunked = value.equalsIgnoringCase("chunked")
        case .contentLength: head.bodyFraming = .length(try Self.contentLength(value))
        case .host:
            guard value.allSatisfy(ByteScan.isHostByte) else {
                throw RequestError(400, "Invalid Host: expected a host name or address, and optionally a port")
            }
        default: break
        }
    }

    /// Checks what only the whole head can tell.
    mutating func checkWhole() throws(RequestError) {
        guard head[.host] != nil || !head.isHTTP11 else { throw RequestError(400, "Missing header field: host") }
        if let authority { head.replaceHost(authority) }
        if head[.transferEncoding] != nil {
            guard head[.contentLength] == nil else {
                throw RequestError(400, "Ambiguous length: the request has both Transfer-Encoding and Content-Length")
            }
            guard head.isHTTP11 else { throw RequestError(400, "Transfer-Encoding requires HTTP/1.1") }
            guard options.isChunked else { throw RequestError(501, "Unknown Transfer-Encoding: use chunked") }
            head.bodyFraming = .chunked
        }
        head.keepsAlive = !options.closes && (head.isHTTP11 || options.keepsAlive)
        head.isWebSocketUpgrade = options.upgrades && options.isUpgradeToWebSocket
        // An interim response would confuse a client of HTTP/1.0 (RFC 9110 section 10.1.1).
        head.expectsContinue = head.expectsContinue && head.isHTTP11
    }

    private static func contentLength(_ value: UnsafeRawBufferPointer) throws(RequestError) -> Int {
        // Eighteen digits cannot overflow.
        guard (1...18).contains(value.count) else { throw invalidContentLength }
        var length = 0
        for byte in value {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { throw invalidContentLength }
            length = length * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return length
    }

    private static var invalidContentLength: RequestError {
        RequestError(400, "Invalid Content-Length: expected one header of 1 to 18 digits")
    }
}

/// The elements of a comma-separated list, some of which may be empty (RFC 9110 section 5.6.1).
private struct ListElements: Sequence, IteratorProtocol {
    /// What has not been read.
    var rest: UnsafeRawBufferPointer

    @inline(__always)
    mutating func next() -> UnsafeRawBufferPointer? {
        // Skips empty elements here, because a list may consist of them.
        var start = 0
        while start < rest.count, rest[start] == UInt8(ascii: ",") { start += 1 }
        guard start < rest.count else { return nil }
        var end = start
        while end < rest.count, rest[end] != UInt8(ascii: ",") { end += 1 }
        let element = rest[start..<end].trimmingOWS()
        rest = UnsafeRawBufferPointer(rebasing: rest[end...].dropFirst())
        return UnsafeRawBufferPointer(rebasing: element)
    }
}
