import Access
import FanOut
import Observability
import Primitives
import Threads

/// The rules by which apps that never sign may subscribe: says once a day how many days they have left, and how many still
/// use them, and ends their subscriptions when their time is over.
final class LegacyAccess: Sendable {
    private let rules: [(pattern: String, legacy: ChannelPolicy.Legacy)]
    private let app: AppIndex
    private let hub: SharedHub
    private let log: Log
    private let state = Lock(State())

    private struct State {
        /// When the next line is due, in milliseconds since 1970. The first one is due at the start.
        var nextLineAt: Int64 = 0
        /// The patterns whose time was over at the last call.
        var ended: Set<String> = []
    }

    init(_ policy: ChannelPolicy, app: AppIndex, hub: SharedHub, log: Log) {
        rules = policy.legacyRules
        self.app = app
        self.hub = hub
        self.log = log
    }

    private static let day: Int64 = 86_400_000

    /// - Parameter now: milliseconds since 1970.
    /// - Returns: the patterns whose time is over since the last call; the caller ends their subscriptions.
    func tick(at now: Int64) -> [String] {
        guard !rules.isEmpty else { return [] }
        return state.withLock { state in
            if now >= state.nextLineAt {
                state.nextLineAt = now + Self.day
                for (pattern, legacy) in rules where !legacy.isOver(at: now) { write(pattern, legacy, at: now) }
            }
            let over = rules.filter { $0.legacy.isOver(at: now) }.map(\.pattern)
            defer { state.ended = Set(over) }
            return over.filter { !state.ended.contains($0) }
        }
    }

    private func write(_ pattern: String, _ legacy: ChannelPolicy.Legacy, at now: Int64) {
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

    func families(prefix: String) -> [MetricFamily] {
        let counts = counts
        guard !counts.isEmpty else { return [] }
        return [
            MetricFamily(
                "\(prefix)_legacy_subscriptions", .gauge,
                help: "Open subscriptions of apps that never sign, by the pattern of the channel rule.",
                samples: counts.map { ([("pattern", $0.pattern)], String($0.count.open)) }),
            MetricFamily(
                "\(prefix)_legacy_subscriptions_total", .counter,
                help: "Subscriptions of apps that never sign, by the pattern of the channel rule.",
                samples: counts.map { ([("pattern", $0.pattern)], String($0.count.total)) }),
        ]
    }
}
