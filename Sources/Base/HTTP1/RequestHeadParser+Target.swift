import HTTP
import Primitives

/// The request line (RFC 9112 section 3).
extension RequestHeadParser {
    mutating func readRequestLine(_ bytes: UnsafeRawBufferPointer, _ line: Range<Int>) throws(RequestError) {
        let space = UInt8(ascii: " ")
        let methodEnd = ByteScan.tokenEnd(in: bytes, line)
        // "M / HTTP/1.1": at least two bytes follow the method, and nine the target.
        let targetEnd = line.upperBound - 9
        guard methodEnd > line.lowerBound, methodEnd + 1 < targetEnd, bytes[methodEnd] == space, bytes[targetEnd] == space else {
            throw RequestError(400, "Invalid request line: expected METHOD TARGET HTTP/1.1, with single spaces")
        }
        let isHTTP11 = try Self.isHTTP11(UnsafeRawBufferPointer(rebasing: bytes[(targetEnd + 1)..<line.upperBound]))
        head.path = ByteRange((methodEnd + 1)..<targetEnd)  // for the response, if the target is invalid
        let target = try Target(bytes, (methodEnd + 1)..<targetEnd)
        let method = UnsafeRawBufferPointer(rebasing: bytes[line.lowerBound..<methodEnd])
        guard let method = HTTPRequest.Method(token: method) else {
            throw RequestError(501, "Unknown method: use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")
        }
        head.isHTTP11 = isHTTP11
        head.method = method
        head.path = ByteRange(target.path)
        head.query = ByteRange(target.query)
        authority = target.authority.map { ByteRange($0) }
    }

    /// - Parameter version: eight bytes.
    private static func isHTTP11(_ version: UnsafeRawBufferPointer) throws(RequestError) -> Bool {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let (major, minor) = (version[5], version[7])
        guard version[..<5].hasSameBytes(as: "HTTP/"), digits.contains(major),
            version[6] == UInt8(ascii: "."), digits.contains(minor)
        else { throw RequestError(400, "Invalid version: expected HTTP/1.1") }
        guard major == UInt8(ascii: "1"), minor <= UInt8(ascii: "1") else {
            throw RequestError(505, "HTTP version not supported: use HTTP/1.1")
        }
        return minor == UInt8(ascii: "1")
    }
}

/// A request target in origin form (`/path?query`) or absolute form (`http://host/path?query`). The other two forms are
/// those of CONNECT and of an OPTIONS request for the whole server, which this server does not support.
private struct Target {
    let path: Range<Int>
    let query: Range<Int>
    let authority: Range<Int>?

    init(_ bytes: UnsafeRawBufferPointer, _ target: Range<Int>) throws(RequestError) {
        var pathStart = target.lowerBound
        if bytes[pathStart] != UInt8(ascii: "/") {
            let authority = try Self.authority(bytes, target)
            self.authority = authority
            pathStart = authority.upperBound
        } else {
            authority = nil
        }
        let (pathEnd, hasEscapes) = try Self.pathEnd(bytes, pathStart..<target.upperBound)
        query = min(pathEnd + 1, target.upperBound)..<target.upperBound
        if pathStart == pathEnd {
            // "http://host": the path is "/". There is one in the target, in front of the host.
            path = (pathStart - (authority?.count ?? 0) - 1)..<(pathStart - (authority?.count ?? 0))
        } else {
            path = pathStart..<pathEnd
        }
        guard !hasEscapes || PercentDecoding.isUTF8(UnsafeRawBufferPointer(rebasing: bytes[path])) else {
            throw RequestError(400, "Invalid request target: the decoded path is not UTF-8")
        }
    }

    /// Checks the characters and escapes of path and query.
    /// - Returns: where the path ends, and whether it has escapes.
    @inline(__always)
    private static func pathEnd(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(RequestError) -> (Int, Bool) {
        var pathEnd: Int?
        var hasEscapes = false
        var start = range.lowerBound
        while let index = ByteScan.firstSpecialTargetByte(in: bytes, start..<range.upperBound) {
            switch bytes[index] {
            case UInt8(ascii: "%"):
                let escape = PercentDecoding.escape(UnsafeRawBufferPointer(rebasing: bytes[..<range.upperBound]), at: index)
                guard let escape, escape != 0 else {
                    throw RequestError(400, "Invalid request target: expected two hexadecimal digits after %, other than 00")
                }
                if pathEnd == nil { hasEscapes = true }
            case UInt8(ascii: "?"): pathEnd = pathEnd ?? index
            // A fragment is not part of a target: it never leaves the client.
            case UInt8(ascii: "#"), 0...0x20, 0x7F...0xFF:
                throw RequestError(400, "Invalid request target: expected visible ASCII characters without #")
            default: break
            }
            start = index + 1
            // Each further question mark is special, too, but means nothing.
            while pathEnd != nil, start < range.upperBound, bytes[start] == UInt8(ascii: "?") { start += 1 }
        }
        return (pathEnd ?? range.upperBound, hasEscapes)
    }

    /// The host and port of an absolute target (RFC 9110 section 4.2).
    private static func authority(_ bytes: UnsafeRawBufferPointer, _ target: Range<Int>) throws(RequestError) -> Range<Int> {
        let text = UnsafeRawBufferPointer(rebasing: bytes[target])
        for scheme in ["http://", "https://"] as [StaticString] {
            let count = scheme.utf8CodeUnitCount
            guard UnsafeRawBufferPointer(rebasing: text.prefix(count)).equalsIgnoringCase(scheme) else { continue }
            let start = target.lowerBound + count
            let rest = bytes[start..<target.upperBound]
            let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? target.upperBound
            guard start < end, bytes[start..<end].allSatisfy(ByteScan.isHostByte) else { break }
            return start..<end
        }
        throw RequestError(400, "Invalid request target: expected a path that begins with /")
    }
}

extension HTTPRequest.Method {
    /// The method of this name; methods are case-sensitive. Nil if this server does not know it.
    fileprivate init?(token: UnsafeRawBufferPointer) {
        switch token.count {
        case 3 where token.hasSameBytes(as: "GET"): self = .get
        case 3 where token.hasSameBytes(as: "PUT"): self = .put
        case 4 where token.hasSameBytes(as: "POST"): self = .post
        case 4 where token.hasSameBytes(as: "HEAD"): self = .head
        case 5 where token.hasSameBytes(as: "PATCH"): self = .patch
        case 6 where token.hasSameBytes(as: "DELETE"): self = .delete
        case 7 where token.hasSameBytes(as: "OPTIONS"): self = .options
        default: return nil
        }
    }
}
