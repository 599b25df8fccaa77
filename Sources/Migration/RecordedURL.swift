/// A URL that a file names, in its parts.
struct RecordedURL {
    let scheme: String
    /// Host and port, as written.
    let authority: String
    let path: String
    let query: String

    /// Nil unless the text is `scheme://authority…`, of printable ASCII and at most 8,192 bytes.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count <= 8_192, bytes.allSatisfy({ (0x21...0x7E).contains($0) }),
            let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8)
        else { return nil }
        let rest = bytes[(colon + 3)...]
        let end = rest.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
        let fragment = rest[end...].firstIndex(of: UInt8(ascii: "#")) ?? rest.endIndex
        let question = rest[end..<fragment].firstIndex(of: UInt8(ascii: "?")) ?? fragment
        guard end > rest.startIndex else { return nil }
        scheme = String(decoding: bytes[..<colon].map { $0 | 0x20 }, as: UTF8.self)
        authority = String(decoding: rest[..<end], as: UTF8.self)
        path = String(decoding: rest[end..<question], as: UTF8.self)
        query = String(decoding: rest[question..<fragment].dropFirst(), as: UTF8.self)
    }

    /// The port, or the scheme's. Nil if what stands behind the colon is no port.
    var port: Int? {
        let host = Array(Self.host(authority).utf8)
        // The colons in the brackets of an IPv6 address have no port behind them.
        let colon = host.lastIndex(of: UInt8(ascii: ":")).flatMap { host[$0...].contains(UInt8(ascii: "]")) ? nil : $0 }
        let digits = colon.map { host[($0 + 1)...] } ?? []
        guard !digits.isEmpty else { return scheme == "https" || scheme == "wss" ? 443 : 80 }
        guard digits.count <= 5, digits.allSatisfy(\.isDigit), let port = Int(String(decoding: digits, as: UTF8.self)) else {
            return nil
        }
        return (1...65_535).contains(port) ? port : nil
    }

    /// The value of a query parameter, as written.
    func parameter(_ name: String) -> String? {
        for parameter in query.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            if parts[0].elementsEqual(name.utf8) { return parts.count > 1 ? String(Substring(parts[1])) : "" }
        }
        return nil
    }

    /// Whether the port, if there is one, is written behind a host and without leading zeros.
    private var hasPlainPort: Bool {
        let parts = authority.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 2 else { return parts.count == 1 }
        return !parts[0].isEmpty && parts[1].first.map { $0.isDigit && $0 != UInt8(ascii: "0") } ?? false
            && parts[1].count <= 5 && parts[1].allSatisfy(\.isDigit)
    }

    /// The path's segments.
    var segments: [String] { path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) } }

    /// A host without what stands before `@`, which may be a password.
    static func host(_ text: String) -> String {
        let reversed = text.utf8.reversed().prefix { $0 != UInt8(ascii: "@") }
        return String(decoding: reversed.reversed(), as: UTF8.self)
    }

    /// The longest origin that `allowed_origins` accepts, in bytes. A name of the DNS has at most 253.
    static let originBytesMax = 300

    /// Whether the text is an origin, as browsers send it.
    static func isOrigin(_ text: String) -> Bool {
        guard text.utf8.count <= originBytesMax, let url = RecordedURL(text), url.scheme == "http" || url.scheme == "https" else {
            return false
        }
        return url.path.isEmpty && url.query.isEmpty
            && url.authority.utf8.allSatisfy { $0.isLetterOrDigit || "-.:".utf8.contains($0) }
            && url.hasPlainPort && url.port != nil
            && !url.authority.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).contains(
                where: \.isEmpty)
    }
}

extension UInt8 {
    /// Whether the byte is an ASCII digit.
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// Whether the byte is an ASCII letter or digit.
    var isLetterOrDigit: Bool { isDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}
