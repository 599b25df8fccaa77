import Primitives

/// A limit whose rejections are counted in the family `limited_total`, because it has no family of its own. Who enforces a
/// limit declares it, in an extension.
package struct Limit: Hashable, Sendable {
    /// The label `limit`: dashboards and alerts use it. It is the limit's configuration key, without its section; limits that
    /// cannot be configured have a name of the same kind.
    package let name: String

    /// - Parameter name: ``name``.
    package init(_ name: String) { self.name = name }
}

/// Decides when rejections are logged: soon after the first one, then at most once per ``Timing/limitLogInterval`` and
/// limit, so that a flood of rejections does not become a flood of log lines.
package struct LimitLog {
    private var logged: [String: (count: Int, at: Int)] = [:]

    package init() {}

    /// The limits to log now, with their rejections since their last line. Call it once a second.
    /// - Parameters:
    ///   - counts: each limit's label, and its rejections so far.
    ///   - second: the current second, in the caller's own count.
    package mutating func due(_ counts: [(limit: String, count: Int)], at second: Int) -> [(limit: String, count: Int)] {
        counts.compactMap { limit, total in
            let last = logged[limit]
            let isDue = last.map { second - $0.at >= Timing.wholeSeconds(Timing.limitLogInterval) } ?? true
            guard total > last?.count ?? 0, isDue else { return nil }
            logged[limit] = (total, second)
            return (limit, total - (last?.count ?? 0))
        }
    }
}
