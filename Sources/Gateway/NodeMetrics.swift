import FanOut
import Observability
import PusherProtocol
import Server
import Threads

/// The metrics of the gateway's realtime part: those of every loop, closes by code, and the hub's counts. Any thread
/// may read them.
final class NodeMetrics: Sendable {
    /// By loop.
    let loops: [LoopMetrics]
    /// By loop.
    let requests: [RequestMetrics]
    /// The prefix of all metric names, without the underscore.
    let prefix: String
    private let limited = Lock<[Limit: Int]>([:])
    private let budget: DescriptorBudget
    private let logWriter: LogWriter
    /// Nil for unencrypted connections.
    private let certificates: TLSCertificates?
    private let closes = Lock<[CloseCode: Int]>([:])
    private let pings = Lock(Histogram(bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]))
    private let fanOuts = Lock(
        Histogram(bounds: [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]))

    init(
        loopCount: Int, prefix: String, budget: DescriptorBudget, logWriter: LogWriter, certificates: TLSCertificates?
    ) {
        loops = (0..<loopCount).map { _ in LoopMetrics() }
        requests = (0..<loopCount).map { _ in RequestMetrics() }
        self.prefix = prefix
        self.budget = budget
        self.logWriter = logWriter
        self.certificates = certificates
    }

    /// Counts a connection that the server closes.
    func countClose(_ code: CloseCode) { closes.withLock { $0[code, default: 0] += 1 } }

    /// Records the time from the server's ping to the client's pong.
    func observePing(seconds: Double) { pings.withLock { $0.observe(seconds) } }

    /// Records the time from a publish to the last write of one loop.
    func observeFanOut(seconds: Double) { fanOuts.withLock { $0.observe(seconds) } }

    /// Counts rejections by a limit that has no family of its own. Any thread may call it.
    func countLimited(_ limit: Limit, _ count: Int = 1) { limited.withLock { $0[limit, default: 0] += count } }

    /// The limits to log now; see ``LimitLog``.
    func limitsToLog(_ log: inout LimitLog, hub: SharedHub, at second: Int) -> [(limit: String, count: Int)] {
        let clientEvents = loops.reduce(0) { $0 + $1[.limitedClientEvents] }
        return log.due(rejections(hub) + [("client_events_per_second", clientEvents)], at: second)
    }

    /// The rejections by limits that have no family of their own.
    private func rejections(_ hub: SharedHub) -> [(limit: String, count: Int)] {
        let limited = limited.withLock { $0 }
        let (refused, droppedRecovered) = hub.read { ($0.refusedSubscriptions, $0.fleet?.droppedRecovered ?? 0) }
        return Limit.all.map { ($0.name, limited[$0, default: 0]) } + [
            ("subscriptions", refused.subscriptions), ("presence_members", refused.presenceMembers),
            ("channels", refused.channels), ("app_subscriptions", refused.appSubscriptions),
            ("kept_names", refused.keptNames),
            ("recovered_notifications", droppedRecovered),
        ]
    }

    /// The closes by the server, by code.
    var closesByCode: [(code: Int, count: Int)] {
        closes.withLock { $0 }.map { (Int($0.key.rawValue), $0.value) }.sorted { $0.code < $1.code }
    }

    /// The HTTP requests of the last seconds.
    func requestSummary(seconds: Int) -> RecentRequests.Summary {
        RecentRequests.summary(
            of: requests.map(\.recent), seconds: seconds, at: Int(Clock.monotonicNanoseconds() / 1_000_000_000))
    }

    /// - Parameters:
    ///   - threads: the messages that wait for the threads other than the loops and the log's.
    ///   - patterns: ``Router/patterns``.
    func families(hub: SharedHub, threads: [(name: String, depth: Int)], patterns: [String]) -> [MetricFamily] {
        let (channels, subscriptions, evictions, lists) = hub.read {
            ($0.channelCount, $0.subscriptionCount, $0.cacheEvictions, $0.presenceLists)
        }
        let loops = hub.mailboxes.enumerated().map { (name: "loop-\($0)", depth: $1.depth) }
        let mailboxes = loops + threads + [(name: "log", depth: logWriter.depth)]
        return loopFamilies() + [turns] + RequestMetrics.families(requests, patterns: patterns, prefix: prefix)
            + ProcessStatistics.families(prefix: prefix) + [
                MetricFamily(
                    "\(prefix)_mailbox_depth", .gauge, help: "Messages queued for a thread.",
                    samples: mailboxes.map { ([("thread", $0.name)], String($0.depth)) }),
                MetricFamily("\(prefix)_channels", .gauge, help: "Occupied channels.", value: channels),
                MetricFamily("\(prefix)_subscriptions", .gauge, help: "Subscriptions of all connections.", value: subscriptions),
                MetricFamily(
                    "\(prefix)_presence_list_bytes", .gauge, help: "Bytes of the encoded member lists that are kept.",
                    value: lists.bytes),
                MetricFamily(
                    "\(prefix)_cache_evicted_total", .counter, help: "Cached events evicted before expiry: the cache was full.",
                    value: evictions),
                MetricFamily(
                    "\(prefix)_close_total", .counter, help: "Connections closed by the server, by close code.",
                    samples: closesByCode.map { ([("code", String($0.code))], String($0.count)) }),
                MetricFamily(
                    "\(prefix)_ping_rtt_seconds", help: "Time from a ping to an idle client to its pong, in seconds.",
                    histograms: [([], pings.withLock { $0 })]),
                MetricFamily(
                    "\(prefix)_fanout_seconds",
                    help: "Time from a publish to a loop's last write, in seconds; of one publish in \(SharedHub.sampledOneIn).",
                    histograms: [([], fanOuts.withLock { $0 })]),
                MetricFamily(
                    "\(prefix)_limited_total", .counter, help: "Rejections, by limit.",
                    samples: rejections(hub).map { ([("limit", $0.limit)], String($0.count)) }),
                MetricFamily(
                    "\(prefix)_descriptors_in_use", .gauge, help: "Descriptors of clients, which server.connections limits.",
                    value: budget.inUse),
                MetricFamily(
                    "\(prefix)_log_lines_dropped_total", .counter, help: "Log lines dropped because the log's queue was full.",
                    value: logWriter.droppedCount),
            ] + certificateFamilies() + (hub.refusals?.families(prefix: prefix) ?? [])
    }

    private func certificateFamilies() -> [MetricFamily] {
        guard let certificates else { return [] }
        return [
            MetricFamily(
                "\(prefix)_tls_certificate_expiry_timestamp_seconds", .gauge,
                help: "When a certificate in use expires, in seconds since 1970.",
                samples: certificates.expiries.map { ([("certificate", $0.path)], String($0.at)) })
        ]
    }

    private var turns: MetricFamily {
        MetricFamily(
            "\(prefix)_turn_seconds",
            help: "Time of a loop's turn, from waking up to waiting again, in seconds: so long others wait.",
            histograms: loops.enumerated().map { ([("loop", String($0))], $1.turns.histogram) })
    }

    /// A family per ``LoopMetric``, with a sample per loop.
    private func loopFamilies() -> [MetricFamily] {
        LoopMetric.allCases.map { metric in
            let family = metric.family
            return MetricFamily(
                "\(prefix)_\(family.name)", family.kind, help: family.help,
                samples: loops.enumerated().map { ([("loop", String($0))], String($1[metric])) })
        }
    }
}
