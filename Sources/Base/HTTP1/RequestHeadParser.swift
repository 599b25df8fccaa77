import HTTP

/// Parses the head of one request (RFC 9112 sections 2 to 6).
///
/// It reads line by line and is strict: whatever a proxy in front of this server might understand in another way is an
/// error, because such a difference allows request smuggling. The head may arrive in any pieces. The parser remembers
/// how far it has looked, so a head that arrives byte by byte costs no more than one that arrives at once.
package struct RequestHeadParser {
    /// The maximum size of a head in bytes, unless another one is configured: dashboards send session cookies of 8 KB, and
    /// issuers put lists of groups into tokens.
    package static let headBytesDefault = 16_384
    /// The maximum number of header fields: Envoy, Apache and Tomcat permit as many.
    package static let fieldsMax = 100

    package enum Result {
        /// The head goes on: call ``parse(_:)`` again when more bytes have arrived.
        case incomplete
        /// The body, or the next request, begins at ``RequestHead/byteCount``. The next request needs a new parser.
        case complete(RequestHead)
        /// The connection must close after the response.
        case invalid(RequestError)
    }

    /// What has been read so far. After an error it tells the method and the path if the request line was valid. The
    /// path is the whole target if that was invalid, and empty if no target was found.
    package internal(set) var head = RequestHead()
    private let headBytesMax: Int
    /// What `Connection`, `Upgrade` and `Transfer-Encoding` say, until the head is complete.
    var options = ConnectionOptions()
    /// The host of an absolute target.
    var authority: ByteRange?

    private var isRequestLineRead = false
    private var fieldCount = 0
    /// Where the first line begins that has not been read.
    private var lineStart = 0
    /// How far the line's end has been searched.
    private var searchedEnd = 0

    /// - Parameter headBytesMax: the maximum size of a head in bytes.
    package init(headBytesMax: Int = Self.headBytesDefault) { self.headBytesMax = headBytesMax }

    /// Parses as far as the bytes reach.
    /// - Parameter bytes: all bytes of the connection from the start of this request on. Each call must pass the bytes
    ///   of the calls before, and may pass more; the address may differ.
    package mutating func parse(_ bytes: UnsafeRawBufferPointer) -> Result {
        do throws(RequestError) {
            return try readLines(bytes) ? .complete(head) : .incomplete
        } catch {
            return .invalid(error)
        }
    }

    /// - Returns: whether the head is complete.
    private mutating func readLines(_ bytes: UnsafeRawBufferPointer) throws(RequestError) -> Bool {
        // What is beyond the limit is not looked at: so the result does not depend on how much arrives at once.
        let end = min(bytes.count, headBytesMax)
        while let lineEnd = try nextLineEnd(bytes, end) {
            let line = lineStart..<lineEnd
            lineStart = lineEnd + 2
            searchedEnd = lineStart
            if isRequestLineRead {
                guard !line.isEmpty else {
                    head.byteCount = lineStart
                    try checkWhole()
                    return true
                }
                try readField(bytes, line)
            } else if !line.isEmpty {
                try readRequestLine(bytes, line)
                isRequestLineRead = true
            } else if line.lowerBound > 0 {
                throw RequestError(400, "Invalid request: expected at most one empty line before the request line")
            }
        }
        guard end < headBytesMax else {
            throw RequestError(431, "Request line and headers exceed \(headBytesMax) bytes")
        }
        return false
    }

    /// Searches the next line end, and rejects a control character at once: what is no request, such as the start of a
    /// TLS handshake, may contain no line end, and its sender may wait for an answer.
    /// - Returns: the index of the CR; nil if the line goes on.
    @inline(__always)
    private mutating func nextLineEnd(_ bytes: UnsafeRawBufferPointer, _ end: Int) throws(RequestError) -> Int? {
        let control = ByteScan.firstControl(in: bytes, searchedEnd..<end)
        searchedEnd = control ?? end
        guard let control else { return nil }
        guard bytes[control] == UInt8(ascii: "\r") else {
            throw RequestError(400, "Invalid request: control character, or a line end other than CR LF")
        }
        guard control + 1 < end else { return nil }
        guard bytes[control + 1] == UInt8(ascii: "\n") else { throw RequestError(400, "Invalid request: CR without LF") }
        return control
    }

    private mutating func readField(_ bytes: UnsafeRawBufferPointer, _ line: Range<Int>) throws(RequestError) {
        fieldCount += 1
        guard fieldCount <= Self.fieldsMax else { throw RequestError(431, "More than \(Self.fieldsMax) header fields") }
        let nameEnd = ByteScan.tokenEnd(in: bytes, line)
        guard nameEnd > line.lowerBound, nameEnd < line.upperBound, bytes[nameEnd] == UInt8(ascii: ":") else {
            throw RequestError(400, "Invalid header field: expected a name, directly followed by a colon, on each line")
        }
        let name = UnsafeRawBufferPointer(rebasing: bytes[line.lowerBound..<nameEnd])
        guard let field = HTTPRequest.Field(name: name) else { return }
        let value = bytes[(nameEnd + 1)..<line.upperBound].trimmingOWS()
        try interpret(field, UnsafeRawBufferPointer(rebasing: value))
        guard !head.add(ByteRange(value.startIndex..<value.endIndex), for: field) else { return }
        guard field.mayRepeat else { throw RequestError(400, "Invalid header fields: several lines of \(field.name)") }
        head.hasRepeatedFields = true
    }
}
