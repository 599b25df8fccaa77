/// The web origins that may use an application. A request without `Origin` does not come from a web page of another
/// origin, so it is allowed.
///
/// Origins are compared as bytes, and only the case of ASCII letters is ignored: browsers send ASCII (RFC 6454 section
/// 6.2), and comparing other strings can take quadratic time.
package struct AllowedOrigins: Equatable, Sendable {
    private enum Pattern: Equatable, Sendable {
        /// `*`
        case any
        case origin([UInt8])
        /// The scheme with `://`, and the domain with the dot before it.
        case subdomains(scheme: [UInt8], domain: [UInt8])

        init(_ text: String) {
            let parts = text.split(separator: "://*.", maxSplits: 1)
            if text == "*" {
                self = .any
            } else if parts.count == 2 {
                self = .subdomains(scheme: lowercased(parts[0] + "://"), domain: lowercased("." + parts[1]))
            } else {
                self = .origin(lowercased(text))
            }
        }

        func matches(_ origin: [UInt8]) -> Bool {
            switch self {
            case .any: true
            case .origin(let bytes): origin == bytes
            case .subdomains(let scheme, let domain):
                origin.count > scheme.count + domain.count && origin.starts(with: scheme)
                    && origin.suffix(domain.count).elementsEqual(domain)
            }
        }
    }

    private let patterns: [Pattern]

    /// - Parameter patterns: `*` for every origin, or `scheme://host[:port]`. The host may begin with `*.`, which
    ///   matches all subdomains, but not the domain itself.
    package init(_ patterns: [String]) { self.patterns = patterns.map(Pattern.init) }

    /// Whether `origin` matches a pattern. True if it is nil: the request has no `Origin`.
    package func allows(_ origin: String?) -> Bool {
        guard let origin = origin.map(lowercased) else { return true }
        return patterns.contains { $0.matches(origin) }
    }

    /// Whether `origin` matches a pattern other than `*`.
    package func lists(explicitly origin: String) -> Bool {
        let origin = lowercased(origin)
        return patterns.contains { $0 != .any && $0.matches(origin) }
    }

    /// Whether a page of `origin` comes from the server that the request is for.
    /// - Parameter host: the `Host` header. If it is nil, the result is false.
    package static func isOrigin(_ origin: String, of host: String?) -> Bool {
        guard let host else { return false }
        let suffix = Array("://".utf8) + lowercased(host)
        return lowercased(origin).suffix(suffix.count).elementsEqual(suffix)
    }
}

/// The bytes of a text, with its ASCII letters in lower case.
private func lowercased(_ text: some StringProtocol) -> [UInt8] {
    text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
}
