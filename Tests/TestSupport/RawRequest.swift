import HTTP
import HTTP1

/// A request as a client sends it. Tests get an `HTTPRequest` from it by running the real parser.
package struct RawRequest {
    /// The head and, if there is one, the body.
    package let bytes: [UInt8]
    private let headCount: Int

    /// - Parameters:
    ///   - target: percent-encoded, with the query.
    ///   - fields: header fields in order. `Host` and `Content-Length` are added: the latter if there is a body, or if
    ///     the method is POST, PUT or PATCH.
    package init(
        _ method: HTTPRequest.Method, _ target: String, fields: [(name: String, value: String)] = [], body: [UInt8] = []
    ) {
        var head = "\(method.rawValue) \(target) HTTP/1.1\r\n"
        if !fields.contains(where: { $0.name.lowercased() == "host" }) { head += "Host: localhost\r\n" }
        for field in fields { head += "\(field.name): \(field.value)\r\n" }
        if !body.isEmpty || [.post, .put, .patch].contains(method) { head += "Content-Length: \(body.count)\r\n" }
        bytes = Array((head + "\r\n").utf8) + body
        headCount = bytes.count - body.count
    }

    /// A target from a path and a query that are not percent-encoded.
    package static func target(_ path: String, query: [(name: String, value: String)] = []) -> String {
        let parameters = query.map { encoded($0.name, keeping: "") + "=" + encoded($0.value, keeping: "") }
        return encoded(path, keeping: "/") + (query.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
    }

    private static func encoded(_ text: String, keeping kept: String) -> String {
        text.utf8.map { byte in
            let isKept = Array("-._~0123456789".utf8).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) && byte < 0x80
            guard !isKept, !kept.utf8.contains(byte) else { return String(UnicodeScalar(byte)) }
            return "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }

    /// Calls `use` with the parsed request, which is valid only within the call. Traps if the parser rejects the head.
    package func withRequest<Value>(
        correlationID: String = "c1", isLoopback: Bool = false, _ use: (HTTPRequest) -> Value
    ) -> Value {
        guard let value = withRequestIfValid(correlationID: correlationID, isLoopback: isLoopback, use) else {
            preconditionFailure("the test's request is invalid: \(String(decoding: bytes, as: UTF8.self))")
        }
        return value
    }

    /// Calls `use` with the parsed request, unless the parser rejects the head.
    /// - Returns: nil if the head is rejected.
    package func withRequestIfValid<Value>(
        correlationID: String = "c1", isLoopback: Bool = false, _ use: (HTTPRequest) -> Value
    ) -> Value? {
        bytes.withUnsafeBytes { bytes in
            var parser = RequestHeadParser()
            guard case .complete(let head) = parser.parse(bytes), head.byteCount == headCount else { return nil }
            let body = UnsafeRawBufferPointer(rebasing: bytes[headCount...])
            return use(HTTPRequest(head: head, bytes: bytes, body: body, correlationID: correlationID, isLoopback: isLoopback))
        }
    }
}
