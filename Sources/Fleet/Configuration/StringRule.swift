import Addresses

/// Decides which strings a configuration key accepts, and describes them for errors.
struct StringRule: Sendable {
    /// The accepted strings, worded to follow "expected".
    let expected: String
    /// Whether a string is accepted.
    let accepts: @Sendable (String) -> Bool

    init(_ expected: String, accepts: @escaping @Sendable (String) -> Bool) {
        self.expected = expected
        self.accepts = accepts
    }

    /// `text` itself; nil if the rule rejects it.
    func accepted(_ text: String) -> String? {
        accepts(text) ? text : nil
    }
}

extension StringRule {
    static let any = StringRule("a string") { _ in true }

    /// Empty, or 32 bytes in base64: 43 characters and a final `=`. The last two bits of the 43rd character are unused
    /// and must be 0, so only 16 characters are possible there.
    static let masterKey = StringRule("32 bytes in base64") {
        $0.isEmpty
            || $0.utf8.count == 44 && $0.utf8.last == UInt8(ascii: "=")
                && $0.utf8.dropLast().allSatisfy { $0.isLetterOrDigit || "+/".utf8.contains($0) }
                && "AEIMQUYcgkosw048".utf8.contains($0.utf8.dropLast().last ?? 0)
    }

    static let nonEmpty = StringRule("a non-empty string") { !$0.isEmpty }

    /// Checks only the characters and the length (DNS names have at most 253 characters). A name is resolved only when
    /// the gateway listens or connects.
    static let host = StringRule("an IP address or a host name") {
        (1...253).contains($0.utf8.count) && $0.utf8.allSatisfy { $0.isLetterOrDigit || ".:-_%".utf8.contains($0) }
    }

    static let network = StringRule("an IP address or a network such as 10.0.0.0/8 or 2001:db8::/32") { IPNetwork($0) != nil }

    /// An app's id and key are parts of URL paths, where these characters need no escaping.
    static let identifier = StringRule("1 to 64 letters, digits, _ or -") {
        (1...64).contains($0.utf8.count) && $0.utf8.allSatisfy(\.isNameByte)
    }

    /// Rejects a path, which no `Origin` has, and `null`, which anybody's page can have.
    static let origin = StringRule(
        "\"*\", \"file://\" or an origin such as https://example.com:8443 or https://*.example.com; not \"null\", because every "
            + "sandboxed page and local file has that origin"
    ) { $0 == "*" || $0 == "file://" || isOrigin($0) }

    /// The first segments of the gateway's own paths, which a test compares with those of its endpoints.
    static let ownSegments: Set = [
        "api", "app", "app-register-device", "app-trip-status", "apps", "console", "healthz", "metrics", "pusher", "readyz",
        "users",
    ]

    /// The characters need no escapes in a path, and no parser takes such a prefix for something else. Dot segments are none.
    /// Below one of the gateway's own segments, such as `/app`, a path `/app/key1` could be meant with the prefix or without.
    static let pathPrefix = StringRule(
        "a path such as /ws or /realtime/v1, without a slash at the end, not below the gateway's own such as /app, or \"\""
    ) { text in
        let segments = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return text.isEmpty
            || text.utf8.count <= 100 && segments.count > 1 && segments[0].isEmpty
                && !ownSegments.contains(String(Substring(segments[1])))
                && segments.dropFirst().allSatisfy { segment in
                    !segment.isEmpty && segment.first != UInt8(ascii: ".")
                        && segment.allSatisfy { $0.isNameByte || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "~") }
                }
    }

    /// Scheme, host and port become a source of the page's content security policy, so a URL needs no escaping there.
    static let tileURL = StringRule("an http or https URL with {z}, {x} and {y}, not of an IPv6 address, or \"\"") { text in
        guard !text.isEmpty else { return true }
        let example = ["{z}", "{x}", "{y}"].reduce(text) { $0.replacing($1, with: "0") }
        // The host has no variable part. A content security policy cannot name an IPv6 address.
        let host = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).dropFirst(2).first ?? "{"
        return ["{z}", "{x}", "{y}"].allSatisfy(text.contains) && !host.contains("{") && !host.contains("[")
            && URLParts(example) != nil
    }

    /// All metric names begin with this prefix, and Prometheus rejects a name that begins with a digit.
    static let metricsPrefix = StringRule("lower-case letters, digits and _, not beginning with a digit") {
        guard let first = $0.utf8.first, !first.isDigit else { return false }
        return $0.utf8.allSatisfy { $0.isLowercase || $0.isDigit || $0 == UInt8(ascii: "_") }
    }

    /// Clients cannot send a token with other characters in a header, so every request would be rejected.
    static let token = StringRule("printable ASCII without spaces, or \"\"") {
        $0.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

extension StringRule {
    /// `scheme://host[:port]`, where the host may begin with `*.`, or be an IPv6 address in brackets. A slash at the end is
    /// ignored when origins are compared.
    private static func isOrigin(_ text: String) -> Bool {
        let form = /[A-Za-z][A-Za-z0-9+.\-]*:\/\/(?:(?:\*\.)?[\w\-]+(?:\.[\w\-]+)*|\[[0-9A-Fa-f:.]+\])(?::([1-9][0-9]{0,4}))?\/?/
            .asciiOnlyCharacterClasses()
        guard text.utf8.count <= 300, let match = text.wholeMatch(of: form) else { return false }
        return match.1.flatMap { Int($0) } ?? 0 <= 65_535
    }
}

extension Settings.Server {
    /// Whether ``pathPrefix`` may be this text.
    package static func acceptsPathPrefix(_ text: String) -> Bool { StringRule.pathPrefix.accepts(text) }
}

extension UInt8 {
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    var isLowercase: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
    var isLetterOrDigit: Bool { isDigit || (self | 0x20).isLowercase }  // Setting bit 0x20 makes an ASCII letter lower-case.
    var isNameByte: Bool { isLetterOrDigit || self == UInt8(ascii: "_") || self == UInt8(ascii: "-") }
}
