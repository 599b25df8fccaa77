/// The web origins that may use an application. Requests without `Origin` do not come from a web page and are allowed.
package struct AllowedOrigins: Equatable, Sendable {
    private let patterns: [String]

    /// - Parameter patterns: `*`, or `scheme://host[:port]`, where the host may begin with `*.`.
    package init(_ patterns: [String]) { self.patterns = patterns.map { $0.lowercased() } }

    /// Whether `origin` matches a pattern. True for nil, a request without `Origin`.
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
