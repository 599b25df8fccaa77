import FleetRules
import Primitives
import Threads

/// The one thread that writes: it takes what waits, commits it as one transaction, and then says what came of each.
///
/// A disk sync takes milliseconds and a statement microseconds: what comes during a commit shares the next one.
package final class StoreWriter: Sendable {
    /// How it is set up.
    package struct Options: Sendable {
        package var path: String
        package var durability = Durability.full
        package var retentionDays = 30
        package var rules = NotificationRules()
        package var ids = ULIDSource()
        /// What phones' tokens are sealed with.
        package var keys: DeviceKeys
        /// The push lanes that are served.
        package var lanes: Set<PushLane> = []
        /// Days after which a phone whose app has not registered it again gets no more pushes (1…).
        package var staleDays = 270
        /// Errands that may wait; beyond it ``StoreWriter/post(_:)-(Errand)`` says no.
        package var queueMax = 4096
        /// Errands in one transaction.
        package var batchMax = 256

        package init(path: String, keys: DeviceKeys) {
            self.path = path
            self.keys = keys
        }
    }

    /// What it is told and whom it tells. All of it is called on the writer's thread.
    package struct Environment: Sendable {
        /// Milliseconds since 1970.
        package var now: @Sendable () -> Int64
        /// Once before anything is written: what is there at the start.
        package var opened: @Sendable (CommandExecutor) throws(DatabaseError) -> Void
        /// Once per batch, after its commit, in the order of the commit.
        package var settled: @Sendable ([CommandReply]) -> Void
        /// The answer to a report, after its commit.
        package var supplied: @Sendable (PushLease) -> Void
        /// Nothing of the report was written; it is worth trying again, after a while.
        package var reportRefused: @Sendable (PushReport) -> Void
        /// These lanes have more to do than any settlement or supply has said: they should ask.
        package var queued: @Sendable (Set<PushLane>) -> Void
        /// Phones that are gone because nobody has seen them for long.
        package var removed: @Sendable ([RemovedDevice]) -> Void
        /// Push jobs that have failed, and those that have come to an end without a lane having had them in hand.
        package var ended: @Sendable ([PushLane: FinishedPushes]) -> Void
        package var report: @Sendable (StoreEvent) -> Void

        package init(
            now: @escaping @Sendable () -> Int64,
            opened: @escaping @Sendable (CommandExecutor) throws(DatabaseError) -> Void = { _ throws(DatabaseError) in },
            settled: @escaping @Sendable ([CommandReply]) -> Void, supplied: @escaping @Sendable (PushLease) -> Void = { _ in },
            reportRefused: @escaping @Sendable (PushReport) -> Void = { _ in },
            queued: @escaping @Sendable (Set<PushLane>) -> Void = { _ in },
            removed: @escaping @Sendable ([RemovedDevice]) -> Void = { _ in },
            ended: @escaping @Sendable ([PushLane: FinishedPushes]) -> Void = { _ in },
            report: @escaping @Sendable (StoreEvent) -> Void
        ) {
            self.now = now
            self.opened = opened
            self.settled = settled
            self.supplied = supplied
            self.reportRefused = reportRefused
            self.queued = queued
            self.removed = removed
            self.ended = ended
            self.report = report
        }
    }

    /// What reaches the writer's thread.
    enum Work: Equatable, Sendable {
        case command(CommandRequest)
        case report(PushReport)
    }

    /// Reports that find room however many errands wait: a lane has one or two on their way.
    private static let reportsMax = 64

    private let queue: WorkQueue<Work>
    private let queueMax: Int
    /// Set until the writer has seen them.
    private let newRules: Lock<NotificationRules?>
    private let counts: Lock<StoreStatistics>
    private let thread: Thread

    /// Opens the store and starts; throws what kept it from that.
    package init(_ settings: Options, _ surroundings: Environment) throws(StoreError) {
        let queue = WorkQueue<Work>(capacity: settings.queueMax + Self.reportsMax)
        let newRules = Lock<NotificationRules?>(nil)
        let counts = Lock(StoreStatistics())
        self.queue = queue
        queueMax = settings.queueMax
        self.newRules = newRules
        self.counts = counts
        thread = try StoreThread.start(
            name: "store-writer",
            open: { () throws(StoreError) in
                WriterLoop(try Self.open(settings, surroundings), settings, surroundings, queue, newRules, counts)
            },
            run: { loop in loop.run() })
    }

    /// Hands an errand over; false when too many wait, or after ``stop()``.
    package func post(_ errand: CommandRequest) -> Bool {
        // Those who come between the question and the posting take of the reports' room.
        queue.depth < queueMax && queue.post(.command(errand))
    }

    /// Hands a lane's report over, to be answered by `supplied` or `reportRefused`; false when too many wait, or after
    /// ``stop()``.
    package func post(_ report: PushReport) -> Bool { queue.post(.report(report)) }

    /// From the next batch on, this is decided by `rules`.
    package func use(_ rules: NotificationRules) { newRules.withLock { $0 = rules } }

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

    private static func open(_ settings: Options, _ surroundings: Environment) throws(StoreError) -> CommandExecutor {
        let database = try Database.open(path: settings.path, durability: settings.durability, now: surroundings.now())
        try settings.keys.check(against: database)
        do throws(DatabaseError) {
            let ledger = try CommandExecutor(database, settings)
            try surroundings.opened(ledger)
            return ledger
        } catch {
            throw StoreError(error, path: settings.path)
        }
    }
}
