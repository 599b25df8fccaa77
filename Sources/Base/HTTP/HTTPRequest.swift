/// An HTTP request: a head, and a body if it has one.
///
/// `bytes` and `body` are borrowed from the event loop, and valid only while it handles the request.
/// ``DeferredRequest`` is a copy that stays valid. Texts are made when they are asked for, because most requests need
/// only a few.
package struct HTTPRequest {
    /// The methods that some resource of this server accepts; the parser rejects the other ones.
    package enum Method: String, Sendable, BitwiseCopyable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
        case options = "OPTIONS"
    }

    package let head: RequestHead
    /// What the head's ranges refer to.
    package let bytes: UnsafeRawBufferPointer
    /// The body, without framing. Empty if the request has none.
    package let body: UnsafeRawBufferPointer
    /// Identifies the request in its response, events, audit entry and log lines: 1 to 128 printable ASCII characters.
    package let correlationID: String
    /// Whether the request comes from this machine, and not through a proxy on this machine.
    package let isLoopback: Bool
    /// Whether the client uses TLS, with this server or with a trusted proxy in front of it; false if that is not known.
    package var isSecure: Bool

    /// - Parameter bytes: the buffer in which the parser found `head`.
    package init(
        head: RequestHead, bytes: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, correlationID: String, isLoopback: Bool,
        isSecure: Bool = false
    ) {
        self.head = head
        self.bytes = bytes
        self.body = body
        self.correlationID = correlationID
        self.isLoopback = isLoopback
        self.isSecure = isSecure
    }

    package var method: Method { head.method }

    // MARK: Target

    /// The path as sent, percent-encoded. Dot segments and empty segments are kept: `/a/../b` is not `/b`.
    package var rawPath: UnsafeRawBufferPointer { bytes[head.path] }
    /// The query as sent, without the `?`. Empty if there is none.
    package var rawQuery: UnsafeRawBufferPointer { bytes[head.query] }
    /// The path, percent-decoded. A `+` stays a `+`.
    package var path: String { PercentDecoding.text(rawPath, .path) }

    /// The query's parameters in the order sent, percent-decoded; a `+` is a space. A parameter without `=` has an
    /// empty value, and nothing between two `&` is no parameter. Bytes that are not UTF-8 become U+FFFD. Computed at
    /// each call.
    package var query: [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        parameters.reserveCapacity(8)  // A signed request has four to six.
        for parameter in rawParameters {
            parameters.append((PercentDecoding.text(parameter.name, .query), PercentDecoding.text(parameter.value, .query)))
        }
        return parameters
    }

    /// The value of a query parameter, the first if there are several. Nil if absent. A parameter whose name is not
    /// UTF-8 is not found by any name.
    package func queryValue(_ name: String) -> String? {
        for parameter in rawParameters where PercentDecoding.equals(parameter.name, name, .query) {
            return PercentDecoding.text(parameter.value, .query)
        }
        return nil
    }

    private var rawParameters: RawParameters { RawParameters(rest: rawQuery) }

    // MARK: Fields

    /// The value of a header field. If the field has several lines: their values in the order sent, with `, ` between
    /// them (RFC 9110 section 5.3). Nil if the request does not have the field. Bytes that are not UTF-8 become U+FFFD.
    /// Of a head that is not complete: the value of the first line.
    package func field(_ field: Field) -> String? {
        guard let first = head[field] else { return nil }
        var text = String(decoding: bytes[first], as: UTF8.self)
        guard head.hasRepeatedFields, field.mayRepeat else { return text }
        for line in FieldLines(bytes: bytes, after: first, end: head.byteCount) where Field(name: line.name) == field {
            text += ", "
            text += String(decoding: line.value, as: UTF8.self)
        }
        return text
    }

    /// The `Authorization` header.
    package var authorization: String? { field(.authorization) }
    /// The `Origin` header: the origin of the web page for which a browser sent the request.
    package var origin: String? { field(.origin) }
    /// Whether a browser asks what a web page of another origin may send (the CORS protocol of the Fetch standard).
    package var isPreflight: Bool { method == .options && head[.origin] != nil }
}

/// The parameters of a query, not decoded.
private struct RawParameters: Sequence, IteratorProtocol {
    /// What has not been read.
    var rest: UnsafeRawBufferPointer

    mutating func next() -> (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)? {
        while !rest.isEmpty {
            let end = rest.offset(of: UInt8(ascii: "&")) ?? rest.count
            let parameter = UnsafeRawBufferPointer(rebasing: rest[..<end])
            rest = UnsafeRawBufferPointer(rebasing: rest[end...].dropFirst())
            guard !parameter.isEmpty else { continue }
            let nameEnd = parameter.offset(of: UInt8(ascii: "=")) ?? parameter.count
            return (
                UnsafeRawBufferPointer(rebasing: parameter[..<nameEnd]),
                UnsafeRawBufferPointer(rebasing: parameter[nameEnd...].dropFirst())
            )
        }
        return nil
    }
}

/// The field lines after a given one, in a head that the parser has checked.
private struct FieldLines: Sequence, IteratorProtocol {
    private let bytes: UnsafeRawBufferPointer
    /// The end of the last line, in or before its CR LF.
    private var index: Int
    private let end: Int

    init(bytes: UnsafeRawBufferPointer, after value: ByteRange, end: Int) {
        self.bytes = bytes
        index = Int(value.upperBound)
        self.end = Swift.max(end, index)  // The end of a head that is not complete is not known.
    }

    mutating func next() -> (name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)? {
        guard let lineFeed = offset(of: "\n", from: index), let nameEnd = offset(of: ":", from: lineFeed + 1),
            let carriageReturn = offset(of: "\r", from: nameEnd)
        else { return nil }
        index = carriageReturn
        let value = bytes[(nameEnd + 1)..<carriageReturn].trimmingOWS()
        return (UnsafeRawBufferPointer(rebasing: bytes[(lineFeed + 1)..<nameEnd]), UnsafeRawBufferPointer(rebasing: value))
    }

    private func offset(of character: Unicode.Scalar, from start: Int) -> Int? {
        UnsafeRawBufferPointer(rebasing: bytes[start..<end]).offset(of: UInt8(ascii: character)).map { start + $0 }
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// The slice without the spaces and tabs at its ends (`OWS` in RFC 9110 section 5.6.3).
    package func trimmingOWS() -> Self {
        var (start, end) = (startIndex, endIndex)
        while start < end, base[start] == 0x20 || base[start] == 0x09 { start += 1 }
        while end > start, base[end - 1] == 0x20 || base[end - 1] == 0x09 { end -= 1 }
        return base[start..<end]
    }
}
