/// The web origins that may use an application. A request without `Origin` does not come from a web page of another
/// origin, so it is allowed.
package struct AllowedOrigins: Equatable, Sendable {
    private let patterns: [String]

    /// - Parameter patterns: `*` for every origin, or `scheme://host[:port]`. The host may begin with `*.`, which
    ///   matches all subdomains, but not the domain itself.
    package init(_ patterns: [String]) { self.patterns = patterns.map { $0.lowercased() } }

    /// Whether `origin` matches a pattern. True if it is nil: the request has no `Origin`.
    package func allows(_ origin: String?) -> Bool {
        guard let origin = origin?.lowercased() else { return true }
        return patterns.contains { Self.matches(origin, $0) }
    }

    /// Whether `origin` matches a pattern other than `*`.
    package func lists(explicitly origin: String) -> Bool {
        let origin = origin.lowercased()
        return patterns.contains { $0 != "*" && Self.matches(origin, $0) }
    }

    private static func matches(_ origin: String, _ pattern: String) -> Bool {
        guard pattern != "*", pattern != origin else { return true }
        let parts = pattern.split(separator: "://*.", maxSplits: 1)
        guard parts.count == 2 else { return false }
        let (scheme, domain) = (parts[0] + "://", "." + parts[1])
        return origin.hasPrefix(scheme) && origin.hasSuffix(domain) && origin.utf8.count > scheme.utf8.count + domain.utf8.count
    }
}
