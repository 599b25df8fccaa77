/// The head of a request: its request line and header fields, as ranges of the buffer that was parsed. Only the parser
/// (`HTTP1.RequestHeadParser`) makes one, so its ranges are valid and its framing is unambiguous.
///
/// A trivial value: it allocates nothing, however many fields the request has.
package struct RequestHead: Sendable, BitwiseCopyable {
    /// Where the body ends (RFC 9112 section 6.3).
    package enum BodyFraming: Equatable, Sendable, BitwiseCopyable {
        /// No body: the request has neither `Content-Length` nor `Transfer-Encoding`.
        case none
        /// `Content-Length`, in bytes; may be 0.
        case length(Int)
        /// `Transfer-Encoding: chunked`.
        case chunked
    }

    package var method = HTTPRequest.Method.get
    /// The path as sent, percent-encoded: begins with `/`, unless the request line could not be read.
    package var path = ByteRange(0..<0)
    /// The query as sent, without the `?`. Empty if there is none.
    package var query = ByteRange(0..<0)
    /// Whether the version is HTTP/1.1. If not, it is HTTP/1.0.
    package var isHTTP11 = true
    package var bodyFraming = BodyFraming.none
    /// Whether the body is absent or empty.
    package var hasNoBody: Bool { bodyFraming == .none || bodyFraming == .length(0) }
    /// Whether the client reuses the connection after the response (RFC 9112 section 9.3).
    package var keepsAlive = true
    /// Whether the client waits for `100 Continue` before it sends the body (RFC 9110 section 10.1.1).
    package var expectsContinue = false
    /// Whether `Upgrade` lists `websocket` and `Connection` lists `upgrade` (RFC 6455 section 4.2.1, items 3 and 4).
    /// The method, the version and the fields of the opening handshake are not checked.
    package var isWebSocketUpgrade = false
    /// Whether any field has a second line.
    package var hasRepeatedFields = false
    /// The size of the head in bytes, from the start of the buffer to the end of the empty line. The body follows.
    package var byteCount = 0
    @usableFromInline var fields = InlineArray<23, ByteRange>(repeating: ByteRange(0..<0))

    package init() {}

    /// The value of a field without the white space around it. If the field has several lines: the first line's value.
    /// Nil if the request does not have the field. For an absolute target, `host` is the target's (RFC 9112 section
    /// 3.2.2).
    @inlinable @inline(__always) package subscript(field: HTTPRequest.Field) -> ByteRange? {
        // No value is at offset 0, where the request line is.
        let range = fields[Int(field.rawValue)]
        return range.lowerBound == 0 ? nil : range
    }

    /// Sets the value of a field, unless the field already has one.
    /// - Returns: whether the value was set.
    package mutating func add(_ value: ByteRange, for field: HTTPRequest.Field) -> Bool {
        guard fields[Int(field.rawValue)].lowerBound == 0 else { return false }
        fields[Int(field.rawValue)] = value
        return true
    }

    /// Removes a prefix from the path, if the path goes on behind it with a slash.
    /// - Parameters:
    ///   - prefix: begins with a slash, and does not end with one.
    ///   - bytes: what the head's ranges refer to.
    package mutating func removePathPrefix(_ prefix: [UInt8], from bytes: UnsafeRawBufferPointer) {
        guard !prefix.isEmpty, path.count > prefix.count else { return }
        let sent = bytes[path]
        guard sent[prefix.count] == UInt8(ascii: "/"), sent.prefix(prefix.count).elementsEqual(prefix) else { return }
        path = ByteRange((Int(path.lowerBound) + prefix.count)..<Int(path.upperBound))
    }

    /// Sets the host to that of an absolute target.
    package mutating func replaceHost(_ authority: ByteRange) { fields[Int(HTTPRequest.Field.host.rawValue)] = authority }
}
