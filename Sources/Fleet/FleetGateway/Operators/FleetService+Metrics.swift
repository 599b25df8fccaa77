import Configuration
import Fleet
import Observability
import Threads

/// The state of the fleet's parts, for `/metrics`, `/healthz` and operators.
extension FleetService {
    /// After this time, a notification that no device has confirmed counts as unconfirmed; `delivery.confirm_seconds`.
    var confirmSeconds: Int { settings.delivery.confirmSeconds }

    var statistics: StoreStatistics { writer.statistics }
    /// Why the store cannot be written, for operators; nil: it can.
    var storeProblem: String? {
        let statistics = writer.statistics
        switch statistics.failure {
        case .lost: return "a file of the store was moved, replaced or deleted: see store_lost in the log"
        case .damaged: return "the store is damaged: see store_damaged in the log"
        case nil: return statistics.isUnavailable ? "the store cannot be written: see store_unavailable in the log" : nil
        }
    }

    /// Whether all that was answered with 200 is in the store that the next start opens.
    var isStoreIntact: Bool { writer.statistics.failure == nil }
    var readerDepth: Int { reader.queueDepth }

    /// The requests that wait for each thread.
    var queues: [(name: String, depth: Int)] {
        let store = [(name: "store-writer", depth: statistics.queueDepth), (name: "store-reader", depth: readerDepth)]
        let keys = keyFetchers.enumerated().compactMap { index, fetcher in
            fetcher.map { (name: "token-keys-\(index)", depth: $0.depth) }
        }
        let sms = settings.otp.isEnabled ? [(name: "sms", depth: codes.depth)] : []
        let tokens = introspection.map { [(name: "introspection", depth: $0.depth)] } ?? []
        return store + pushService.queues + keys + sms + tokens
    }

    func families(prefix: String) -> [MetricFamily] {
        let store = statistics
        let buckets = Self.cumulative(StoreStatistics.commitBounds, store.commitBuckets)
        let waits = reader.waits
        let trips = counters.tripFamilies(prefix: prefix, followed: trips.count)
        return counters.families(prefix: prefix) + counters.reactionFamilies(prefix: prefix) + trips
            + counters.batchFamilies(prefix: prefix)
            + codeMetrics.families(prefix: prefix) + legacy.families(prefix: prefix)
            + (introspection?.families(prefix: prefix) ?? [])
            + pushService.families(prefix: prefix) + [
                MetricFamily(
                    "\(prefix)_store_commit_seconds", help: "Commit latency in seconds, including fsync.", buckets: buckets,
                    sum: Double(store.commitNanoseconds) / 1e9, count: store.commits),
                MetricFamily(
                    "\(prefix)_store_transaction_rows", help: "Rows that a transaction of the store has written.",
                    buckets: Self.cumulative(RowCounts.bounds.map(Double.init), store.rows.buckets),
                    sum: Double(store.rows.sum), count: store.rows.buckets.reduce(0, +)),
                MetricFamily(
                    "\(prefix)_store_read_wait_seconds", help: "Time that reads wait for one of the store's readers.",
                    buckets: Self.cumulative(WaitTimes.bounds, waits.buckets), sum: Double(waits.milliseconds) / 1e3,
                    count: waits.count),
                MetricFamily(
                    "\(prefix)_store_commands_total", .counter, help: "Commands executed.", value: store.commands),
                MetricFamily(
                    "\(prefix)_store_unavailable_total", .counter,
                    help: "Commands answered 503: the store is not writable (disk full, server away).",
                    value: store.unavailable),
                MetricFamily(
                    "\(prefix)_store_failed_total", .counter, help: "Commands that failed with an internal error.",
                    value: store.failed),
                MetricFamily(
                    "\(prefix)_store_forgotten_total", .counter, help: "Rows deleted by retention.", value: store.deleted),
                MetricFamily(
                    "\(prefix)_store_retention_lag_seconds", .gauge,
                    help: "By how much the oldest rows of the logs are older than store.retention_days.",
                    value: Int(store.retentionLag / 1_000)),
                MetricFamily(
                    "\(prefix)_store_queue_depth", .gauge, help: "Requests queued for the store's threads.",
                    samples: [
                        ([("thread", "writer")], String(store.queueDepth)), ([("thread", "reader")], String(readerDepth)),
                    ]),
                MetricFamily(
                    "\(prefix)_store_outage", .gauge,
                    help: "1 while the store cannot be written: for a time (unavailable), or until a restart (lost, damaged).",
                    samples: store.outages.map { ([("reason", $0.reason)], $0.isOn ? "1" : "0") }),
            ] + storeFamilies(prefix: prefix)
    }

    private static func cumulative(_ bounds: [Double], _ buckets: [Int]) -> [(bound: Double, count: Int)] {
        var total = 0
        return zip(bounds, buckets).map { bound, count in
            total += count
            return (bound: bound, count: total)
        }
    }

    /// Of a file, or of the connections to a PostgreSQL server.
    private func storeFamilies(prefix: String) -> [MetricFamily] {
        guard let sizes = writer.fileSizes else {
            return [
                MetricFamily(
                    "\(prefix)_store_pool_waiting", .gauge,
                    help: "Reads that wait for one of the store.pool connections to the database.", value: readerDepth)
            ]
        }
        // Infinity compares with a threshold as the age of a very old backup does.
        let backupAge = Backup.lastTime(of: settings.store.path).map { (Clock.unixMilliseconds() - $0) / 1_000 }
        return [
            MetricFamily(
                "\(prefix)_store_backup_age_seconds", .gauge, help: "Age of the last good backup; +Inf: none is known.",
                samples: [([], backupAge.map { String(max(0, $0)) } ?? "+Inf")]),
            MetricFamily("\(prefix)_store_file_bytes", .gauge, help: "Size of the database file.", value: sizes.file),
            MetricFamily("\(prefix)_store_wal_bytes", .gauge, help: "Size of the write-ahead log's file.", value: sizes.log),
        ]
    }
}

extension StoreStatistics {
    /// The reasons for which the store cannot be written.
    fileprivate var outages: [(reason: String, isOn: Bool)] {
        let (isLost, isDamaged) =
            switch failure {
            case .lost: (true, false)
            case .damaged: (false, true)
            case nil: (false, false)
            }
        return [("unavailable", isUnavailable && failure == nil), ("lost", isLost), ("damaged", isDamaged)]
    }
}
