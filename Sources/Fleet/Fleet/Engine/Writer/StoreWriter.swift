import Primitives
import Threads

/// The one thread that writes to the store. It executes the queued commands, the reports of push lanes, and what loops
/// tell and ask about deliveries, many of them per transaction, and publishes their results after the commit.
///
/// Group commit: a disk sync takes milliseconds and a statement microseconds, so all requests that arrive during one
/// commit share the next one.
package final class StoreWriter: Sendable {
    /// The writer's settings.
    package struct Options: Sendable {
        /// Where the store is.
        package var address: StoreAddress
        /// Which commits a power failure may lose.
        package var durability = Durability.full
        /// The node, if the gateway is one of a cluster. The store is on a PostgreSQL server then.
        package var member: ClusterMember?
        /// The number of days for which old rows are kept, at least 1.
        package var retentionDays = 30
        /// The number of hours for which the notifications of people's channels are replayed (`delivery.backlog_hours`).
        package var backlogHours = 48
        /// The number of seconds after which a notification that no device has confirmed counts as unconfirmed
        /// (`delivery.confirm_seconds`).
        package var confirmSeconds = 5
        /// Limits and push policy, until ``StoreWriter/use(_:)`` replaces them.
        package var rules = NotificationRules()
        /// The source of the ids of notifications and audit entries.
        package var ids = ULIDSource()
        /// The keys that encrypt device tokens.
        package var keys: DeviceKeys
        /// The enabled push lanes.
        package var lanes: Set<PushLane> = []
        /// The number of days after its last registration in which a device gets pushes, at least 1.
        package var staleDays = 270
        /// Encodes responses. Called on the writer's thread, in the command's transaction.
        package var encode: CommandResponse.Encoder
        /// The most commands that may wait. A part of these places is reserved for dispatchers (``RequestPriority``).
        package var queueMax = 4096
        /// The most commands of one driver or customer that may wait.
        package var queuePerSubjectMax = 32
        /// The most requests of each priority in one transaction.
        package var batchMax = 256
        /// About how long a transaction may take, in milliseconds: those that take longer make the next ones smaller. Nil: as
        /// long as ``batchMax`` requests take.
        package var batchMilliseconds: Int64?
        /// The configured figures of trips.
        package var trips = TripRules()
        /// The numbers that vehicles may have.
        package var vehicleNumbers = VehicleNumberPattern.standard
        package var codes = SignInCodeRules()
        /// Returns the positions of a driver. Called on the writer's thread, in a transaction.
        package var track: @Sendable (_ driverID: String) -> Track = { _ in Track() }
        /// Returns the positions that are newer than when it was last called. Called on the writer's thread every 15
        /// seconds, and when it stops.
        package var takePositions: @Sendable () -> [DriverPosition] = { [] }
        /// Gets positions that could not be stored.
        package var returnPositions: @Sendable ([DriverPosition]) -> Void = { _ in }
        /// The number of days after which an open order or route on which nobody has acted is ended (`fleet.open_days`); 0:
        /// never.
        package var openDays = 30
        /// Whether the gateway keeps drivers' accounts, so that batches open and drivers go offline by time.
        package var keepsAccounts = false
        /// Returns whether a driver has a connection. Called on the writer's thread.
        package var isConnected: @Sendable (_ driverID: String) -> Bool = { _ in false }
        /// Returns when a driver's last request came, in milliseconds since 1970. Nil: none since the start. Called on the
        /// writer's thread.
        package var lastRequest: @Sendable (_ driverID: String) -> Int64? = { _ in nil }
        /// Asks whether the gateway may execute a command of its own, which is then replied to like any other. Called on
        /// the writer's thread.
        package var admitsOwnCommand: @Sendable () -> Bool = { true }
        /// Reads the clocks. Called on the writer's thread.
        package var readClock: @Sendable () -> ClockReading = ClockReading.current

        package init(_ address: StoreAddress, keys: DeviceKeys, encode: @escaping CommandResponse.Encoder) {
            self.address = address
            self.keys = keys
            self.encode = encode
        }
    }

    /// An element of the queue.
    enum Request: Equatable, Sendable {
        case command(CommandRequest)
        case report(PushReport)
        case receipts([Receipt])
        case subscription(CursorRequest)
        /// A transaction is wanted: each one looks at the cluster's log.
        case look(replyTo: ReplyAddress?)
    }

    private let address: StoreAddress
    private let queue: RequestQueue
    /// Beats at least once a second while the thread makes progress: before each request of a transaction, during long
    /// statements, or while it has nothing to do. Ends before the file is closed, because moving the write-ahead log may take long.
    package let heartbeat = Heartbeat("store-writer")
    /// Rules to use from the next batch on. The writer's thread reads them and sets this to nil.
    private let newRules: Lock<NotificationRules?>
    private let counts: Lock<StoreStatistics>
    private let onEvent: @Sendable (StoreEvent) -> Void
    private let thread: Thread

    /// Opens the store and starts the thread. All closures are called on that thread.
    /// - Parameters:
    ///   - onOpen: called once, before the first command.
    ///   - onCommit: called after each transaction that has something to publish, in commit order.
    ///   - takePublished: returns what was published since the last call. Called at most once per transaction, and at
    ///     least once a second. The writer records it, so that the next process publishes only what this one did not.
    ///   - onEvent: gets events for the operator's log.
    /// - Throws: ``StoreError`` if the store cannot be opened or migrated, or if a key is missing or wrong.
    package init(
        _ options: Options, onOpen: @escaping @Sendable (CommandExecutor) throws(DatabaseError) -> Void,
        onCommit: @escaping @Sendable (Commit) -> Void, takePublished: @escaping @Sendable () -> Published,
        onEvent: @escaping @Sendable (StoreEvent) -> Void
    ) throws(StoreError) {
        let queue = RequestQueue(
            RequestBacklog(countMax: options.queueMax, perSubjectMax: options.queuePerSubjectMax))
        let newRules = Lock<NotificationRules?>(nil)
        let counts = Lock(StoreStatistics())
        let heartbeat = heartbeat
        let report = { @Sendable (event: StoreEvent) in
            if let failure = event.failure { counts.fail(failure, onEvent: onEvent) }
            onEvent(event)
        }
        self.onEvent = onEvent
        address = options.address
        self.queue = queue
        self.newRules = newRules
        self.counts = counts
        thread = try StoreThread.start(
            name: "store-writer",
            open: { () throws(StoreError) in
                var reported: String?
                let observer = StoreWaitObserver(
                    onWait: { heartbeat.beat() },
                    onUnknownCommit: { error in
                        heartbeat.beat()
                        let wasUnavailable = counts.withLock { counts in
                            defer { counts.isUnavailable = true }
                            return counts.isUnavailable
                        }
                        if !wasUnavailable || error.message != reported { report(.unavailable(error)) }
                        reported = error.message
                        return !queue.isClosed
                    },
                    onMigration: { onEvent(.migrating(from: $0, to: $1)) })
                let (executor, clock) = try Self.open(options, observer, onOpen)
                let checkpointer = try Checkpointer(options.address, onEvent: report)
                return WriterLoop(
                    executor, clock, options, queue, checkpointer, newRules, counts, heartbeat, onCommit: onCommit,
                    takePublished: takePublished, onEvent: report)
            },
            run: { loop in loop.run() })
    }

    /// Queues a command, unless too many of its subject, or of all subjects, wait.
    package func post(_ request: CommandRequest) -> PostResult { queue.post(.command(request)) }

    /// Queues a lane's report. The reply is a lease or a rejected report in a ``Commit``. Returns false if the queue is
    /// full, or after ``stop()``.
    package func post(_ report: PushReport) -> Bool { queue.post(.report(report)) == .queued }

    /// Queues receipts. While the disk is full they wait; see ``Commit/droppedReceipts``.
    package func post(_ receipts: [Receipt]) -> PostResult { queue.post(.receipts(receipts)) }

    /// Lets the writer look at the cluster's log soon: a node has committed something that this one has not heard of.
    /// - Parameter address: who is told when this node has applied all that was committed before; see ``Commit/looked``.
    /// - Returns: false if the queue is full.
    @discardableResult
    package func look(replyTo address: ReplyAddress? = nil) -> Bool { queue.post(.look(replyTo: address)) == .queued }

    /// Queues a subscription to a durable channel. It sees all receipts that were posted before it. The reply is in
    /// ``Commit/subscriptions`` or ``Commit/rejectedSubscriptions``.
    package func post(_ request: CursorRequest) -> PostResult { queue.post(.subscription(request)) }

    /// Replaces the rules. The new rules apply from the next batch of requests on.
    package func use(_ rules: NotificationRules) { newRules.withLock { $0 = rules } }

    /// Whether this process still does what must not be done twice. False for a node of a cluster that was frozen, or cut
    /// off from the database, for so long that another leads.
    package var leads: Bool { counts.withLock { $0.leadsUntil } > Clock.monotonicMilliseconds() }

    /// Records that a reader has found damage: what is written no more need not be repaired.
    package func report(damage error: DatabaseError) { counts.fail(.damaged(error), onEvent: onEvent) }

    /// The counts since the start, and the current queue depth.
    package var statistics: StoreStatistics {
        var statistics = counts.withLock { $0 }
        statistics.queueDepth = queue.depth
        return statistics
    }

    /// The bytes of the database file and of its write-ahead log; nil if the store is on a PostgreSQL server.
    package var fileSizes: (file: Int, log: Int)? {
        guard case .file(let path) = address else { return nil }
        return StoreFile.sizes(path: path)
    }

    /// Executes the queued requests, moves the write-ahead log into the database file, and closes the file. Call once.
    package func stop() {
        queue.close()
        thread.join()
    }

    private static func open(
        _ options: Options, _ observer: StoreWaitObserver, _ onOpen: (CommandExecutor) throws(DatabaseError) -> Void
    ) throws(StoreError) -> (CommandExecutor, ClockKeeper) {
        let reading = options.readClock()
        let database = try Database.open(
            options.address, durability: options.durability, now: reading.wall, as: options.member, observer)
        database.sqlite?.reportProgress(to: observer.onWait)
        try options.keys.check(against: database)
        do throws(DatabaseError) {
            let executor = try CommandExecutor(database, options)
            let clock = try ClockKeeper(database, at: reading)
            // A copy, because the writer's loop observes the reading again and reports a jump. The nodes of a cluster use
            // the database's clock.
            var observed = clock
            _ = observed.observe(reading)
            if options.member == nil { executor.clockLead = observed.lead }
            try executor.setUp(onOpen)
            return (executor, clock)
        } catch {
            throw StoreError(error, options.address)
        }
    }
}
