import FanOut
import Observability
import PusherProtocol
import Server
import Synchronization
import Threads

/// What the node shows of itself: counters of every loop, closes by code, readiness. Written by many, read by anybody.
final class NodeMetrics: Sendable {
    let counters: [LoopCounters]
    let prefix: String
    private let closes = Lock<[CloseCode: Int]>([:])
    private let ready = Atomic<Bool>(false)
    private let drainedLoops = Atomic<Int>(0)

    init(loopCount: Int, prefix: String) {
        counters = (0..<loopCount).map { _ in LoopCounters() }
        self.prefix = prefix
    }

    /// Whether clients are welcome.
    var isReady: Bool { ready.load(ordering: .relaxed) }

    func setReady(_ isReady: Bool) { ready.store(isReady, ordering: .relaxed) }

    /// How many loops have drained, the caller's included.
    func recordDrained() -> Int { drainedLoops.wrappingAdd(1, ordering: .relaxed).newValue }

    func countClose(_ code: CloseCode) { closes.withLock { $0[code, default: 0] += 1 } }

    /// All families of `/metrics`.
    func families(hub: SharedHub) -> [MetricFamily] {
        let (channels, subscriptions, evictions) = hub.read { ($0.channelCount, $0.subscriptionCount, $0.cacheEvictions) }
        return loopFamilies() + [
            MetricFamily(
                "\(prefix)_mailbox_depth", .gauge, help: "Messages waiting for a thread.",
                samples: hub.mailboxes.enumerated().map { ([("thread", "loop-\($0)")], String($1.depth)) }),
            MetricFamily("\(prefix)_channels", .gauge, help: "Occupied channels.", value: channels),
            MetricFamily("\(prefix)_subscriptions", .gauge, help: "Subscriptions of all connections.", value: subscriptions),
            MetricFamily(
                "\(prefix)_cache_evicted_total", .counter, help: "Cached events evicted before expiry: the cache was full.",
                value: evictions),
            MetricFamily(
                "\(prefix)_close_total", .counter, help: "Connections closed by the server, by close code.",
                samples: closes.withLock { $0 }.sorted { $0.key.rawValue < $1.key.rawValue }
                    .map { ([("code", String($0.key.rawValue))], String($0.value)) }),
        ]
    }

    private func loopFamilies() -> [MetricFamily] {
        Counter.allCases.map { counter in
            let metric = counter.metric
            return MetricFamily(
                "\(prefix)_\(metric.name)", metric.kind, help: metric.help,
                samples: counters.enumerated().map { ([("loop", String($0))], String($1[counter])) })
        }
    }
}
