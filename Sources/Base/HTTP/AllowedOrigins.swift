/// The web origins that may use an application. A request without `Origin` does not come from a web page of another
/// origin, so it is allowed.
///
/// Origins are compared by scheme, host and port (see ``WebOrigin``), as bytes: browsers send ASCII (RFC 6454 section 6.2), and
/// comparing other strings can take quadratic time.
package struct AllowedOrigins: Equatable, Sendable {
    private enum Pattern: Equatable, Sendable {
        /// `*`
        case any
        case origin(WebOrigin)
        /// All subdomains of an origin's host.
        case subdomains(of: WebOrigin)

        /// Nil if no origin can match.
        init?(_ text: String) {
            let bytes = Array(text.utf8)
            if bytes == [UInt8(ascii: "*")] {
                self = .any
                return
            }
            var plain = bytes
            let wildcard = bytes.firstIndex(of: UInt8(ascii: "*"))
            if let wildcard {
                guard bytes[..<wildcard].suffix(3).elementsEqual("://".utf8), bytes[wildcard...].starts(with: "*.".utf8) else {
                    return nil
                }
                plain.removeSubrange(wildcard..<(wildcard + 2))
            }
            guard let origin = WebOrigin(plain) else { return nil }
            self = wildcard == nil ? .origin(origin) : .subdomains(of: origin)
        }

        func matches(_ origin: WebOrigin) -> Bool {
            switch self {
            case .any: return true
            case .origin(let allowed): return origin == allowed
            case .subdomains(let parent):
                let (host, domain) = (origin.authority.host, [UInt8(ascii: ".")] + parent.authority.host)
                return origin.scheme == parent.scheme && origin.authority.port == parent.authority.port
                    && host.count > domain.count && host.suffix(domain.count).elementsEqual(domain)
            }
        }
    }

    private let patterns: [Pattern]
    private let allowsAny: Bool

    /// - Parameter patterns: `*` for every origin, or `scheme://host[:port]`. The host may begin with `*.`, which
    ///   matches all subdomains, but not the domain itself. `file://` is an origin, too.
    package init(_ patterns: [String]) {
        self.patterns = patterns.compactMap(Pattern.init)
        allowsAny = self.patterns.contains(.any)
    }

    /// Whether `origin` matches a pattern. True if it is nil: the request has no `Origin`.
    package func allows(_ origin: String?) -> Bool {
        guard let origin, !allowsAny else { return true }
        return lists(explicitly: origin)
    }

    /// Whether `origin` matches a pattern other than `*`.
    package func lists(explicitly origin: String) -> Bool {
        guard let origin = WebOrigin(origin) else { return false }
        return patterns.contains { $0 != .any && $0.matches(origin) }
    }

    /// Whether a page of `origin` comes from the server that the request is for.
    /// - Parameters:
    ///   - host: the `Host` header. If it is nil, the result is false.
    ///   - isSecure: whether the request uses TLS. The page must then use it, too: who controls the network can make a page of
    ///     the same host without TLS say what they like.
    package static func isOrigin(_ origin: String, of host: String?, isSecure: Bool) -> Bool {
        guard let host, let origin = WebOrigin(origin), !(isSecure && origin.isPlain) else { return false }
        return origin.isOfServer(host)
    }

    /// Why an origin is refused that no pattern but `*` can match. Nil for other origins.
    package static func explanation(ofRefusing origin: String?) -> String? {
        guard let origin, origin.utf8.elementsEqual("null".utf8) else { return nil }
        return "null is the origin of every sandboxed page and local file, so it cannot be listed"
    }
}
