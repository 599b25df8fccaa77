import Access
import FanOut
import Observability
import Primitives
import Realtime
import Threads

/// The rules by which apps that never sign may subscribe: says once a day how many days they have left, and how many still
/// use them, and ends their subscriptions when their time is over.
final class LegacyAccess: Sendable {
    private let rules: [(pattern: String, legacy: Legacy)]
    private let app: AppIndex
    private let hub: SharedHub
    private let log: Log
    private let state = Lock(State())

    private struct State {
        /// When the next line is due, in milliseconds since 1970. The first one is due at the start.
        var nextLineAt: Int64 = 0
    }

    init(_ policy: ChannelPolicy, app: AppIndex, hub: SharedHub, log: Log) {
        rules = policy.legacyRules
        self.app = app
        self.hub = hub
        self.log = log
    }

    private static let day: Int64 = 86_400_000

    /// - Parameter now: milliseconds since 1970.
    /// - Returns: the patterns whose time is over and that have subscriptions; the caller ends these. A subscription may open
    ///   afterwards, if it has waited for the store or the cluster, so this is asked at each tick. Patterns whose
    ///   subscriptions are being ended are left out.
    func tick(at now: Int64) -> [String] {
        guard !rules.isEmpty else { return [] }
        state.withLock { state in
            guard now >= state.nextLineAt else { return }
            state.nextLineAt = now + Self.day
            for (pattern, legacy) in rules where !legacy.isOver(at: now) { write(pattern, legacy, at: now) }
        }
        let over = rules.filter { $0.legacy.isOver(at: now) }.map(\.pattern)
        guard !over.isEmpty else { return [] }
        return hub.read { hub in
            let counts = hub.legacyCounts(app: app)
            return over.filter { counts[$0]?.open ?? 0 > 0 && !hub.isEndingLegacy($0, app: app) }
        }
    }

    /// Whether further slices of a pattern's subscriptions are to be ended.
    func isEnding(_ pattern: String) -> Bool { hub.read { $0.isEndingLegacy(pattern, app: app) } }

    private func write(_ pattern: String, _ legacy: Legacy, at now: Int64) {
        let daysLeft = legacy.until.map { Int(($0 - now + Self.day - 1) / Self.day) }
        log.warning(
            "legacy_subscriptions",
            [
                "pattern": .text(pattern), "until": .optional(legacy.until.map { Timestamp.wholeSeconds(milliseconds: $0) }),
                "daysLeft": daysLeft.map { .number($0) } ?? .absent,
                "openNow": .number(hub.read { $0.legacyCounts(app: app)[pattern]?.open ?? 0 }),
            ])
    }

    /// The rules' patterns and their subscriptions, in the order of the rules.
    var counts: [(pattern: String, count: Hub.LegacyCount)] {
        let counts = hub.read { $0.legacyCounts(app: app) }
        return rules.map { ($0.pattern, counts[$0.pattern] ?? Hub.LegacyCount()) }
    }

    var families: [MetricFamily] {
        let counts = counts
        guard !counts.isEmpty else { return [] }
        return [
            MetricFamily(
                "legacy_subscriptions", .gauge,
                "Open subscriptions of apps that never sign, by the pattern of the channel rule.", by: "pattern",
                counts.map { ($0.pattern, $0.count.open) }),
            MetricFamily(
                "legacy_subscriptions_total", .counter,
                "Subscriptions of apps that never sign, by the pattern of the channel rule.", by: "pattern",
                counts.map { ($0.pattern, $0.count.total) }),
        ]
    }
}
