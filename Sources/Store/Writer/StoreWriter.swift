import FleetRules
import Primitives
import Threads

/// The one thread that writes to the store: executes the queued commands in one transaction, commits, and publishes the
/// result.
///
/// Group commit: a disk sync takes milliseconds and a statement microseconds, so all that arrives during one commit shares
/// the next.
package final class StoreWriter: Sendable {
    package struct Options: Sendable {
        package var path: String
        package var durability = Durability.full
        /// Days (1…) that rows are kept.
        package var retentionDays = 30
        package var rules = NotificationRules()
        package var ids = ULIDSource()
        /// Encrypt device tokens.
        package var keys: DeviceKeys
        /// The enabled push lanes.
        package var lanes: Set<PushLane> = []
        /// Days (1…) after which a device gets no more pushes unless its app registers it again.
        package var staleDays = 270
        /// Commands that may wait; beyond it ``StoreWriter/post(_:)-(CommandRequest)`` returns false.
        package var queueMax = 4096
        /// Commands and reports in one transaction.
        package var batchMax = 256
        /// Milliseconds since 1970. Called on the writer's thread.
        package var now: @Sendable () -> Int64 = Clock.unixMilliseconds

        package init(path: String, keys: DeviceKeys) {
            self.path = path
            self.keys = keys
        }
    }

    /// What the queue holds.
    enum Request: Equatable, Sendable {
        case command(CommandRequest)
        case report(PushReport)
    }

    /// Room for reports in a queue that is full of commands: a lane has one or two reports in flight.
    private static let reportsMax = 64

    private let queue: WorkQueue<Request>
    private let queueMax: Int
    /// Nil once the writer uses them.
    private let newRules: Lock<NotificationRules?>
    private let counts: Lock<StoreStatistics>
    private let thread: Thread

    /// Opens the store and starts the thread.
    /// - Parameters: all closures are called on the writer's thread.
    ///   - onOpen: called once, before anything is written.
    ///   - onCommit: called after each transaction that has something to publish, in commit order.
    ///   - onEvent: gets what the operator should know.
    package init(
        _ options: Options, onOpen: @escaping @Sendable (CommandExecutor) throws(DatabaseError) -> Void,
        onCommit: @escaping @Sendable (Commit) -> Void, onEvent: @escaping @Sendable (StoreEvent) -> Void
    ) throws(StoreError) {
        let queue = WorkQueue<Request>(capacity: options.queueMax + Self.reportsMax)
        let newRules = Lock<NotificationRules?>(nil)
        let counts = Lock(StoreStatistics())
        self.queue = queue
        queueMax = options.queueMax
        self.newRules = newRules
        self.counts = counts
        thread = try StoreThread.start(
            name: "store-writer",
            open: { () throws(StoreError) in
                let executor = try Self.open(options, onOpen)
                return WriterLoop(executor, options, queue, newRules, counts, onCommit: onCommit, onEvent: onEvent)
            },
            run: { loop in loop.run() })
    }

    /// Queues a command. Returns false if too many wait, or after ``stop()``.
    package func post(_ request: CommandRequest) -> Bool {
        // Commands of other threads that pass the check at the same moment use up room of the reports.
        queue.depth < queueMax && queue.post(.command(request))
    }

    /// Queues a lane's report. The reply is a lease or a rejected report in a ``Commit``. Returns false if too many wait, or
    /// after ``stop()``.
    package func post(_ report: PushReport) -> Bool { queue.post(.report(report)) }

    /// Replaces the rules, from the next batch on.
    package func use(_ rules: NotificationRules) { newRules.withLock { $0 = rules } }

    package var statistics: StoreStatistics {
        var statistics = counts.withLock { $0 }
        statistics.queueDepth = queue.depth
        return statistics
    }

    /// Executes what is queued, moves the write-ahead log into the file, and closes it. Call once.
    package func stop() {
        queue.close()
        thread.join()
    }

    private static func open(
        _ options: Options, _ onOpen: (CommandExecutor) throws(DatabaseError) -> Void
    ) throws(StoreError) -> CommandExecutor {
        let database = try Database.open(path: options.path, durability: options.durability, now: options.now())
        try options.keys.check(against: database)
        do throws(DatabaseError) {
            let executor = try CommandExecutor(database, options)
            try onOpen(executor)
            return executor
        } catch {
            throw StoreError(error, path: options.path)
        }
    }
}
