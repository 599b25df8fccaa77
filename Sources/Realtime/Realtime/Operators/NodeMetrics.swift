import FanOut
import Observability
import PusherProtocol
import Server
import Threads

/// What the loops count of the gateway's realtime part. Any thread may count and read.
package final class NodeMetrics: Sendable {
    /// By loop.
    package let loops: [LoopMetrics]
    /// By loop.
    package let requests: [RequestMetrics]
    /// The connections that the server closes.
    let closes = LabelledCounter<CloseCode>("close_total", "Connections closed by the server, by close code.") {
        [("code", String($0.rawValue))]
    }
    /// From the server's ping to the client's pong.
    let pings = SharedHistogram(
        "ping_rtt_seconds", "Time from a ping to an idle client to its pong, in seconds.",
        bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30])
    /// From a publish to the last write of one loop.
    let fanOuts = SharedHistogram(
        "fanout_seconds",
        "Time from a publish to a loop's last write, in seconds; of one publish in \(SharedHub.sampledOneIn).",
        bounds: [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5])
    private let limits: [Limit]
    private let limited = Lock<[Limit: Int]>([:])

    /// - Parameter limits: those whose rejections are counted here.
    init(loopCount: Int, limits: [Limit]) {
        self.limits = limits
        loops = (0..<loopCount).map { _ in LoopMetrics() }
        requests = (0..<loopCount).map { _ in RequestMetrics() }
    }

    /// Counts rejections by a limit that has no family of its own. Any thread may call it.
    /// - Precondition: the limit is one of those that `init` got: `/metrics` shows no others.
    package func countLimited(_ limit: Limit, _ count: Int = 1) {
        assert(limits.contains(limit), "\(limit.name) is in no list of limits")
        limited.withLock { $0[limit, default: 0] += count }
    }

    /// The limits to log now; see ``LimitLog``.
    /// - Parameter others: those that the extension counts.
    func limitsToLog(
        _ log: inout LimitLog, hub: SharedHub, and others: [ExtensionRejections], at second: Int
    ) -> [(limit: String, count: Int)] {
        let clientEvents = loops.reduce(0) { $0 + $1[.limitedClientEvents] }
        let ownFamilies = others.filter(\.haveFamily).map { ($0.limit, $0.count) }
        return log.due(rejections(hub, others) + [("client_events_per_second", clientEvents)] + ownFamilies, at: second)
    }

    /// The rejections by limits that have no family of their own.
    private func rejections(_ hub: SharedHub, _ others: [ExtensionRejections]) -> [(limit: String, count: Int)] {
        let limited = limited.withLock { $0 }
        let refused = hub.read { $0.refusedSubscriptions }
        return limits.map { ($0.name, limited[$0, default: 0]) } + [
            ("subscriptions", refused.subscriptions), ("presence_members", refused.presenceMembers),
            ("channels", refused.channels), ("app_subscriptions", refused.appSubscriptions),
            ("kept_names", refused.keptNames),
        ] + others.filter { !$0.haveFamily }.map { ($0.limit, $0.count) }
    }

    /// The closes by the server, by code.
    package var closesByCode: [(code: Int, count: Int)] {
        closes.counts.map { (Int($0.key.rawValue), $0.value) }.sorted { $0.code < $1.code }
    }

    /// The HTTP requests of the last seconds.
    package func requestSummary(seconds: Int) -> RecentRequests.Summary {
        RecentRequests.summary(
            of: requests.map(\.recent), seconds: seconds, at: Int(Clock.monotonicNanoseconds() / 1_000_000_000))
    }

    /// The families that are not each loop's own.
    /// - Parameter others: the rejections that the extension counts.
    func families(_ hub: SharedHub, and others: [ExtensionRejections]) -> [MetricFamily] {
        [
            closes.family, pings.family, fanOuts.family,
            MetricFamily(
                "limited_total", .counter, "Rejections, by limit.", by: "limit",
                rejections(hub, others).map { ($0.limit, $0.count) }),
        ]
    }
}
