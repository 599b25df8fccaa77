import FleetRules
import Threads

/// The one thread that writes: it takes what waits, commits it as one transaction, and then says what came of each.
///
/// A disk sync takes milliseconds and a statement microseconds: what comes during a commit shares the next one.
package final class StoreWriter: Sendable {
    /// How it is set up.
    package struct Settings: Sendable {
        package var path: String
        package var durability = Durability.full
        package var retentionDays = 30
        package var rules = NotificationRules()
        package var ids = ULIDSource()
        /// Errands that may wait; beyond it ``StoreWriter/post(_:)`` says no.
        package var queueMax = 4096
        /// Errands in one transaction.
        package var batchMax = 256

        package init(path: String) { self.path = path }
    }

    /// What it is told and whom it tells. All of it is called on the writer's thread.
    package struct Surroundings: Sendable {
        /// Milliseconds since 1970.
        package var now: @Sendable () -> Int64
        /// Once before anything is written: what is there at the start.
        package var opened: @Sendable (Ledger) throws(SQLiteError) -> Void
        /// Once per batch, after its commit, in the order of the commit.
        package var settled: @Sendable ([Settled]) -> Void
        package var report: @Sendable (StoreEvent) -> Void

        package init(
            now: @escaping @Sendable () -> Int64,
            opened: @escaping @Sendable (Ledger) throws(SQLiteError) -> Void = { _ throws(SQLiteError) in },
            settled: @escaping @Sendable ([Settled]) -> Void, report: @escaping @Sendable (StoreEvent) -> Void
        ) {
            self.now = now
            self.opened = opened
            self.settled = settled
            self.report = report
        }
    }

    private let queue: WorkQueue<Errand>
    private let counts: Lock<StoreStatistics>
    private let thread: Thread

    /// Opens the store and starts; throws what kept it from that.
    package init(_ settings: Settings, _ surroundings: Surroundings) throws(StoreError) {
        let queue = WorkQueue<Errand>(capacity: settings.queueMax)
        let counts = Lock(StoreStatistics())
        self.queue = queue
        self.counts = counts
        thread = try StoreThread.start(
            name: "store-writer",
            open: { () throws(StoreError) in
                WriterLoop(try Self.open(settings, surroundings), settings, surroundings, queue, counts)
            },
            run: { loop in loop.run() })
    }

    /// Hands an errand over; false when too many wait, or after ``stop()``.
    package func post(_ errand: Errand) -> Bool { queue.post(errand) }

    package var statistics: StoreStatistics {
        var statistics = counts.withLock { $0 }
        statistics.queueDepth = queue.depth
        return statistics
    }

    /// Settles what waits, moves the log into the file, closes it, and returns. To be called once.
    package func stop() {
        queue.close()
        thread.join()
    }

    private static func open(_ settings: Settings, _ surroundings: Surroundings) throws(StoreError) -> Ledger {
        let database = try Database.open(path: settings.path, durability: settings.durability, now: surroundings.now())
        do throws(SQLiteError) {
            let ledger = try Ledger(database, ids: settings.ids, rules: settings.rules)
            try surroundings.opened(ledger)
            return ledger
        } catch {
            throw StoreError(error, path: settings.path)
        }
    }
}
