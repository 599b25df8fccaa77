import FleetRules
import Primitives
import Threads

/// The one thread that writes to the store: executes the queued commands in one transaction, commits, and publishes the
/// result.
///
/// Group commit: a disk sync takes milliseconds and a statement microseconds, so all that arrives during one commit
/// shares the next.
package final class StoreWriter: Sendable {
    /// The writer's settings.
    package struct Options: Sendable {
        /// The database file.
        package var path: String
        /// What a power failure may lose.
        package var durability = Durability.full
        /// Days (1…) that rows are kept.
        package var retentionDays = 30
        /// Limits and push policy, until ``StoreWriter/use(_:)`` replaces them.
        package var rules = NotificationRules()
        /// Makes the ids of notifications and audit entries.
        package var ids = ULIDSource()
        /// The keys that encrypt device tokens.
        package var keys: DeviceKeys
        /// The enabled push lanes.
        package var lanes: Set<PushLane> = []
        /// Days (1…) after which a device gets no more pushes unless its app registers it again.
        package var staleDays = 270
        /// Encodes responses. Called on the writer's thread, in the command's transaction.
        package var encode: CommandResponse.Encoder
        /// Commands that may wait; beyond it ``StoreWriter/post(_:)-(CommandRequest)`` returns false.
        package var queueMax = 4096
        /// Commands and reports in one transaction.
        package var batchMax = 256
        /// Milliseconds since 1970. Called on the writer's thread.
        package var now: @Sendable () -> Int64 = Clock.unixMilliseconds

        package init(path: String, keys: DeviceKeys, encode: @escaping CommandResponse.Encoder) {
            self.path = path
            self.keys = keys
            self.encode = encode
        }
    }

    /// What the queue holds.
    enum Request: Equatable, Sendable {
        case command(CommandRequest)
        case report(PushReport)
    }

    /// Places in the queue for reports, beyond ``Options/queueMax``. A lane has one report in flight.
    private static let reportsMax = 64

    private let queue: WorkQueue<Request>
    private let queueMax: Int
    /// Rules to use from the next batch on. Nil once the writer has taken them.
    private let newRules: Lock<NotificationRules?>
    private let counts: Lock<StoreStatistics>
    private let thread: Thread

    /// Opens the store and starts the thread. All closures are called on that thread.
    /// - Parameters:
    ///   - onOpen: called once, before the first command.
    ///   - onCommit: called after each transaction that has something to publish, in commit order.
    ///   - onEvent: gets events for the operator's log.
    /// - Throws: ``StoreError`` if the store cannot be opened or migrated, or if a key is missing or wrong.
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
        // Commands that several threads post at the same moment may pass this check together. They then take some of
        // the places for reports.
        queue.depth < queueMax && queue.post(.command(request))
    }

    /// Queues a lane's report. The reply is a lease or a rejected report in a ``Commit``. Returns false if too many
    /// requests wait, or after ``stop()``.
    package func post(_ report: PushReport) -> Bool { queue.post(.report(report)) }

    /// Replaces the rules, from the next batch on.
    package func use(_ rules: NotificationRules) { newRules.withLock { $0 = rules } }

    /// The counts since the start, and the current queue depth.
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
