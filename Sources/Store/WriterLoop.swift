import FleetRules
import Threads

/// What the writer's thread does, and owns.
struct WriterLoop {
    /// Under load, old rows go between every so many batches.
    private static let batchesPerRetention = 4
    /// How long it sleeps at most, to look for old rows.
    private static let sleepMilliseconds: Int64 = 1000

    private let ledger: Ledger
    private let surroundings: StoreWriter.Surroundings
    private let queue: WorkQueue<Errand>
    private let counts: Lock<StoreStatistics>
    private let batchMax: Int
    private var retention: Retention
    /// How many errands were answered 503 since the store could last be written; nil when it can be.
    private var refusedInBurst: Int?
    private var isRetentionFailing = false

    init(
        _ ledger: Ledger, _ settings: StoreWriter.Settings, _ surroundings: StoreWriter.Surroundings,
        _ queue: WorkQueue<Errand>, _ counts: Lock<StoreStatistics>
    ) {
        self.ledger = ledger
        self.surroundings = surroundings
        self.queue = queue
        self.counts = counts
        batchMax = settings.batchMax
        retention = Retention(days: settings.retentionDays)
    }

    consuming func run() {
        var batch: [Errand] = []
        var batchesSinceRetention = 0
        while true {
            let isDue = retention.isDue(surroundings.now())
            switch queue.take(into: &batch, most: batchMax, waiting: isDue ? 0 : Self.sleepMilliseconds) {
            case .closed:
                close()
                return
            case .nothing:
                batchesSinceRetention = Self.batchesPerRetention
            case .items:
                for part in Self.transactions(of: batch) { surroundings.settled(settle(part)) }
                batchesSinceRetention += 1
            }
            if isDue, batchesSinceRetention >= Self.batchesPerRetention {
                forgetSome()
                batchesSinceRetention = 0
            }
        }
    }

    // MARK: Errands

    /// Notifications in one transaction, about: an announcement may have a thousand, and nobody should wait behind hundreds of those.
    private static let notificationsMax = 2_000

    /// The errands as they share transactions, in their order.
    private static func transactions(of batch: [Errand]) -> [[Errand]] {
        var parts: [[Errand]] = [[]]
        var weight = 0
        for errand in batch {
            let own = errand.command.deed.weight
            if weight + own > notificationsMax, weight > 0 {
                parts.append([])
                weight = 0
            }
            parts[parts.count - 1].append(errand)
            weight += own
        }
        return parts
    }

    private mutating func settle(_ batch: [Errand]) -> [Settled] {
        do throws(SQLiteError) {
            let settlements = try commit(batch)
            endBurst()
            return zip(batch, settlements).map { Settled(errand: $0, outcome: .settled($1)) }
        } catch {
            if error.isTransient { return refuse(batch, error) }
            // One of them is the reason: alone, each succeeds or fails for itself.
            if batch.count > 1 { return batch.flatMap { settle([$0]) } }
            counts.withLock { $0.failed += batch.count }
            for errand in batch { surroundings.report(.failed(error, correlationID: errand.command.correlationID)) }
            return batch.map { Settled(errand: $0, outcome: .failed("The store failed")) }
        }
    }

    private func commit(_ batch: [Errand]) throws(SQLiteError) -> [Settlement] {
        let now = surroundings.now()
        let start = Clock.monotonicNanoseconds()
        let settlements = try ledger.transaction { () throws(SQLiteError) in
            var settlements: [Settlement] = []
            settlements.reserveCapacity(batch.count)
            for errand in batch { settlements.append(try ledger.perform(errand.command, now: now)) }
            return settlements
        }
        let nanoseconds = Clock.monotonicNanoseconds() - start
        counts.withLock { $0.countCommit(errands: batch.count, nanoseconds: nanoseconds) }
        return settlements
    }

    private mutating func refuse(_ batch: [Errand], _ error: SQLiteError) -> [Settled] {
        counts.withLock { $0.unavailable += batch.count }
        if refusedInBurst == nil { surroundings.report(.unavailable(error)) }
        refusedInBurst = (refusedInBurst ?? 0) + batch.count
        return batch.map { Settled(errand: $0, outcome: .unavailable("The store cannot write now")) }
    }

    private mutating func endBurst() {
        guard let refused = refusedInBurst else { return }
        refusedInBurst = nil
        surroundings.report(.recovered(refused: refused))
    }

    // MARK: The rest

    private mutating func forgetSome() {
        do throws(SQLiteError) {
            let count = try retention.step(ledger, surroundings.now())
            isRetentionFailing = false
            if count > 0 { counts.withLock { $0.forgotten += count } }
        } catch {
            if !isRetentionFailing { surroundings.report(.retentionFailed(error)) }
            isRetentionFailing = true
        }
    }

    private func close() {
        do throws(SQLiteError) { try ledger.database.checkpoint() } catch { surroundings.report(.checkpointFailed(error)) }
    }
}

extension Command.Deed {
    /// About how many rows it writes.
    fileprivate var weight: Int {
        switch self {
        case .announce(let announcement):
            if case .drivers(let drivers) = announcement.audience { drivers.count } else { 1 }
        case .telemetry(let events): events.count
        case .order, .route, .acceptJob, .acceptRoute, .progress, .markRead: 5
        }
    }
}
