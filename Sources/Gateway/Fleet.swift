import Configuration
import FanOut
import FleetRules
import HTTPAPI
import Observability
import Server
import Store
import Threads
import Tokens

/// What all loops share of the fleet: the store's two threads, the keys of token issuers, and what is counted.
final class Fleet: Sendable {
    let counters = FleetCounters()
    /// The application that carries the fleet's channels.
    let app: AppIndex
    let issuers: [TokenIssuer]
    let ring: KeyRing

    private let writer: StoreWriter
    private let reader: StoreReader
    private let fetcher: KeyFetcher
    private let fetching: Thread

    /// Opens the store, and has the hub learn of all open orders.
    /// - Throws: ``StartError`` saying what is wrong with the store, and what to do.
    init(settings: Settings, hub: SharedHub, policy: ChannelPolicy, log: Log) throws(StartError) {
        app = settings.fleetAppIndex
        issuers = settings.auth.issuers
        ring = KeyRing(issuers: issuers)
        let herald = Herald(hub: hub, app: app, policy: policy, counters: counters, log: log)
        do throws(StoreError) {
            writer = try StoreWriter(
                StoreWriter.Settings(settings),
                StoreWriter.Surroundings(
                    now: Clock.unixMilliseconds,
                    opened: { ledger throws(SQLiteError) in try ledger.openOrders { herald.learn($0) } },
                    settled: { herald.tell($0) }, report: { log.report($0) }))
        } catch {
            throw StartError("\(error)")
        }
        do throws(StoreError) {
            reader = try StoreReader(
                path: settings.store.path, answered: { herald.tell($0) },
                report: { log.error("store_unreadable", ["reason": .text("\($0)")]) })
        } catch {
            writer.stop()
            throw StartError("\(error)")
        }
        let fetcher = KeyFetcher(issuers: issuers, ring: ring, log: log)
        self.fetcher = fetcher
        fetching = Thread(name: "token-keys") { fetcher.run(telling: hub) }
    }

    func post(_ errand: Errand) -> Bool { writer.post(errand) }

    func post(_ query: Query) -> Bool { reader.post(query) }

    func fetchKeys(of issuer: Int, for exchange: ExchangeID, on loop: Int) -> Bool {
        fetcher.fetch(issuer: issuer, for: exchange, on: loop)
    }

    /// Finishes what was taken, and closes the store; after the last loop has stopped.
    func stop() {
        fetcher.stop()
        fetching.join()
        reader.stop()
        writer.stop()
    }

    // MARK: What it shows of itself

    var statistics: StoreStatistics { writer.statistics }
    var readerDepth: Int { reader.queueDepth }

    func families(prefix: String) -> [MetricFamily] {
        let store = statistics
        var cumulative = 0
        let buckets = zip(StoreStatistics.commitBounds, store.commitBuckets).map { bound, count in
            cumulative += count
            return (bound: bound, count: cumulative)
        }
        return counters.families(prefix: prefix) + [
            MetricFamily(
                "\(prefix)_store_commit_seconds", help: "How long commits took, the disk included.", buckets: buckets,
                sum: Double(store.commitNanoseconds) / 1e9, count: store.commits),
            MetricFamily(
                "\(prefix)_store_commands_total", .counter, help: "Commands in these commits.", value: store.errands),
            MetricFamily(
                "\(prefix)_store_unavailable_total", .counter, help: "Commands answered 503: the disk was full, for instance.",
                value: store.unavailable),
            MetricFamily(
                "\(prefix)_store_failed_total", .counter, help: "Commands that failed alone: a defect.", value: store.failed),
            MetricFamily(
                "\(prefix)_store_forgotten_total", .counter, help: "Rows removed because they were old.", value: store.forgotten),
            MetricFamily(
                "\(prefix)_store_queue_depth", .gauge, help: "What waits for the store.",
                samples: [
                    ([("thread", "writer")], String(store.queueDepth)), ([("thread", "reader")], String(readerDepth)),
                ]),
        ]
    }
}

extension StoreWriter.Settings {
    fileprivate init(_ settings: Settings) {
        self.init(path: settings.store.path)
        durability = settings.store.durability == .full ? .full : .normal
        retentionDays = settings.store.retentionDays
        let catalogue = settings.notifications
        let rules = catalogue.names.compactMap { name in
            catalogue.entry(for: name).map {
                (name, NotificationRules.Rule(lifetimeSeconds: $0.lifetimeSeconds, collapsesByJob: $0.collapse == .order))
            }
        }
        self.rules = NotificationRules(
            rules: Dictionary(uniqueKeysWithValues: rules),
            eventBytesMax: settings.apps[settings.fleetAppIndex].limits.eventBytes)
    }
}

extension Log {
    fileprivate func report(_ event: StoreEvent) {
        switch event {
        case .unavailable(let error): self.error("store_unavailable", ["reason": .text("\(error)")])
        case .recovered(let refused): info("store_recovered", ["refused": .number(refused)])
        case .failed(let error, let correlationID):
            self.error("command_failed", ["reason": .text("\(error)"), "correlation_id": .text(correlationID)])
        case .retentionFailed(let error): warning("retention_failed", ["reason": .text("\(error)")])
        case .checkpointFailed(let error): warning("checkpoint_failed", ["reason": .text("\(error)")])
        }
    }
}
