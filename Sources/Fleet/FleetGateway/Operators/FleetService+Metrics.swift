import Configuration
import Fleet
import Observability
import Realtime
import Threads

/// The state of the fleet's parts, for `/metrics`, `/healthz` and operators.
extension FleetService {
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

    var rejections: [ExtensionRejections] {
        [
            ExtensionRejections("recovered_notifications", server.hub.read { $0.fleet?.droppedRecovered ?? 0 }),
            ExtensionRejections("unknown_notifications", counters.droppedSteps.value, haveFamily: true),
        ]
    }

    var families: [MetricFamily] {
        counters.families + [MetricFamily("followed_jobs", .gauge, "Jobs whose drivers can be followed.", trips.count)]
            + codeMetrics.families + legacy.families + (introspection?.families ?? []) + pushService.families
            + storeFamilies + (fileFamilies ?? [poolFamily])
    }

    private var storeFamilies: [MetricFamily] {
        let (store, waits) = (statistics, reader.waits)
        return [
            MetricFamily(
                "store_commit_seconds", "Commit latency in seconds, including fsync.",
                Histogram(
                    bounds: StoreStatistics.commitBounds, counts: store.commitBuckets,
                    sum: Double(store.commitNanoseconds) / 1e9)),
            MetricFamily(
                "store_transaction_rows", "Rows that a transaction of the store has written.",
                Histogram(
                    bounds: RowCounts.bounds.map(Double.init), counts: store.rows.buckets, sum: Double(store.rows.sum))),
            MetricFamily(
                "store_read_wait_seconds", "Time that reads wait for one of the store's readers.",
                Histogram(bounds: WaitTimes.bounds, counts: waits.buckets, sum: Double(waits.milliseconds) / 1e3)),
            MetricFamily("store_commands_total", .counter, "Commands executed.", store.commands),
            MetricFamily(
                "store_unavailable_total", .counter,
                "Commands answered 503: the store is not writable (disk full, server away).", store.unavailable),
            MetricFamily("store_failed_total", .counter, "Commands that failed with an internal error.", store.failed),
            MetricFamily("store_forgotten_total", .counter, "Rows deleted by retention.", store.deleted),
            MetricFamily(
                "store_retention_lag_seconds", .gauge,
                "By how much the oldest rows of the logs are older than store.retention_days.", store.retentionLag / 1_000),
            MetricFamily(
                "store_queue_depth", .gauge, "Requests queued for the store's threads.", by: "thread",
                [("writer", store.queueDepth), ("reader", readerDepth)]),
            MetricFamily(
                "store_outage", .gauge,
                "1 while the store cannot be written: for a time (unavailable), or until a restart (lost, damaged).",
                by: "reason", store.outages.map { ($0.reason, $0.isOn ? 1 : 0) }),
        ]
    }

    /// Nil if the store is no file, but on a PostgreSQL server.
    private var fileFamilies: [MetricFamily]? {
        guard let sizes = writer.fileSizes else { return nil }
        // Infinity compares with a threshold as the age of a very old backup does.
        let backupAge = Backup.lastTime(of: settings.store.path).map { (Clock.unixMilliseconds() - $0) / 1_000 }
        return [
            MetricFamily(
                "store_backup_age_seconds", .gauge, "Age of the last good backup; +Inf: none is known.",
                samples: [([], backupAge.map { String(max(0, $0)) } ?? "+Inf")]),
            MetricFamily("store_file_bytes", .gauge, "Size of the database file.", sizes.file),
            MetricFamily("store_wal_bytes", .gauge, "Size of the write-ahead log's file.", sizes.log),
        ]
    }

    private var poolFamily: MetricFamily {
        MetricFamily(
            "store_pool_waiting", .gauge, "Reads that wait for one of the store.pool connections to the database.",
            readerDepth)
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
