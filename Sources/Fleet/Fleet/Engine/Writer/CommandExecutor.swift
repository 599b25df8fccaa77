import Access
import Primitives

/// What commands are executed with: the tables, and what the writer has in memory. A command reads the state that it needs,
/// plans its effects (``DispatchPlanner``), and writes them: see ``Command`` and ``Transaction``.
///
/// Used only on the writer's thread. It keeps the sources of ids and of turns in memory. They only advance, so a
/// rolled-back transaction leaves a gap in the ids and turns, which is harmless.
package final class CommandExecutor {
    package let database: Database
    /// Nil unless the gateway is a node of a cluster.
    let clusterLog: ClusterLog?
    /// Whether ``setUp(_:)`` runs, in one transaction.
    var isSettingUp = false
    /// ``StoreWriter/Options/readClock``
    let readClock: @Sendable () -> ClockReading
    let orders: OrderTable
    let routes: RouteTable
    let drivers: DriverTable
    let accounts: AccountTable
    let batches: BatchTable
    let signIns: SignInCodeTable
    let codeCounters: SignInCodeLimitTable
    let customers: CustomerTable
    let endedTokens: EndedTokenTable
    let positions: DriverPositionTable
    let notifications: NotificationTable
    let sequences: ChannelSequenceTable
    let steps: NotificationStepTable
    let auditTable: AuditTable
    let idempotency: IdempotencyTable
    let erasures: ErasureTable
    let publication: PublicationTable
    let inbox: InboxTable
    let readMarks: ReadMarkTable
    let cursors: CursorTable
    let deliveries: ReceiptTable
    let checks: ConfirmationCheckTable
    let probe: WriteProbeTable
    let outbox: PushOutbox
    /// Notifications of a person's channel are replayed until they are so old, in milliseconds.
    let backlog: Int64
    /// A notification that no device has confirmed after this time counts as unconfirmed, in milliseconds.
    let confirmTime: Int64
    /// The configured figures of trips.
    let trips: TripRules
    /// The numbers that vehicles may have.
    let vehicleNumbers: VehicleNumberPattern
    /// Whether positions were deleted that the write-ahead log still contains.
    var hasRemovedPositions = false
    /// Makes ids. An existential, because ThreadSanitizer crashes when a variable of an empty type is passed inout.
    var random: any RandomNumberGenerator = SystemRandomNumberGenerator()
    /// Seals and compares customers' delivery codes.
    let deliveryCodes: DeliveryCodes
    /// Digests of the codes with which customers sign in.
    let signInDigests: KeyedDigests
    /// Digests of client addresses.
    let addressDigests: KeyedDigests
    /// ``StoreWriter/Options/isConnected``
    let isConnected: @Sendable (_ driverID: String) -> Bool
    /// ``StoreWriter/Options/lastRequest``
    let lastRequest: @Sendable (_ driverID: String) -> Int64?
    /// ``StoreWriter/Options/track``
    let track: @Sendable (String) -> Track
    /// Limits and push policy. Changed between transactions only.
    var rules: NotificationRules {
        get { outbox.rules }
        set { outbox.rules = newValue }
    }
    /// The tasks that may have something to do. At the start these are all tasks.
    var backgroundTasks = Set(BackgroundTask.allCases)
    /// Progress of ``BackgroundTask/seals``: the index of the key in ``DeviceKeys/olderIDs``, and the id of the last
    /// device that was handled.
    var resealProgress = (keyIndex: 0, after: "")
    /// Milliseconds by which the wall clock is ahead of the trusted time (``TrustedClock``). What cannot be undone is
    /// decided by the trusted time; what people see has the wall clock's.
    var clockLead: Int64 = 0 {
        didSet { outbox.clockLead = clockLead }
    }
    /// ``Identity/key`` of the person whose waiting erasure was looked at last; empty: the next round begins.
    var resumedErasure = ""
    /// Of the notifications for all drivers, those up to this sequence number have no deliveries any more.
    var deliveriesRemovedTo: Int64 = 0
    let counter = NotificationCounter()
    /// The rows of the transactions so far.
    private(set) var rowCounts = RowCounts()
    /// The most rows that the transaction that runs may write, as far as it is known; 0: nothing is declared. Debug builds
    /// count, and check it: see `RowBounds.swift`.
    var declaredRows = 0
    /// What the transaction that runs does with one-time codes.
    var codeCounts = SignInCodeCounts()
    let codeRules: SignInCodeRules
    /// The number of each user's stray telemetry steps.
    var strayCounts = SubjectCounts()
    /// The number of each user's stored responses.
    var responseCounts = SubjectCounts()
    private let encode: CommandResponse.Encoder
    var planner: DispatchPlanner
    var auditIDs: ULIDSource

    package init(_ database: Database, _ options: StoreWriter.Options) throws(DatabaseError) {
        self.database = database
        if let member = options.member, let server = database.server {
            let log = ClusterLog(database, server, member)
            try log.join()
            clusterLog = log
        } else {
            clusterLog = nil
        }
        readClock = options.readClock
        encode = options.encode
        orders = OrderTable(database: database)
        routes = RouteTable(database: database)
        drivers = DriverTable(database: database)
        accounts = AccountTable(database: database)
        batches = BatchTable(database: database)
        signIns = SignInCodeTable(database: database)
        codeCounters = SignInCodeLimitTable(database: database)
        customers = CustomerTable(database: database)
        endedTokens = EndedTokenTable(database: database)
        codeRules = options.codes
        positions = DriverPositionTable(database: database)
        trips = options.trips
        deliveryCodes = DeliveryCodes(options.keys)
        signInDigests = KeyedDigests(options.keys, purpose: "one-time codes")
        addressDigests = KeyedDigests(options.keys, purpose: "client addresses")
        isConnected = options.isConnected
        lastRequest = options.lastRequest
        vehicleNumbers = options.vehicleNumbers
        track = options.track
        notifications = NotificationTable(database: database)
        sequences = ChannelSequenceTable(database: database)
        steps = NotificationStepTable(database: database)
        auditTable = AuditTable(database: database)
        idempotency = IdempotencyTable(database: database)
        erasures = ErasureTable(database: database)
        publication = PublicationTable(database: database)
        inbox = InboxTable(database: database)
        readMarks = ReadMarkTable(database: database)
        cursors = CursorTable(database: database)
        deliveries = ReceiptTable(database: database)
        backlog = Int64(options.backlogHours) * 3_600_000
        confirmTime = Int64(options.confirmSeconds) * 1_000
        checks = ConfirmationCheckTable(database: database)
        probe = WriteProbeTable(database: database)
        outbox = try PushOutbox(database, options, notifications, sequences, counter)
        // Ids must increase even if the clock was set back while the gateway was down, because the logs are read in id
        // order.
        planner = DispatchPlanner(ids: options.ids.continued(after: try notifications.lastID()))
        auditIDs = options.ids.continued(after: try auditTable.lastID())
    }

    /// Runs `body` in a transaction: commits all of its writes, or none.
    /// - Parameter rows: the most rows that it writes, beside those that its requests declare.
    package func transaction<Result>(
        declaring rows: Int = 0, _ body: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        if isSettingUp { return try body() }
        let start = database.totalChangedRows
        declaredRows = rows
        do throws(DatabaseError) {
            let result = try database.transaction(.writing) { () throws(DatabaseError) in
                try beginInCluster()
                let result = try body()
                try sequences.flush()
                try endInCluster()
                return result
            }
            outbox.committed()
            clusterLog?.committed()
            rowCounts.add(Int(database.totalChangedRows - start))
            checkTransaction()
            return result
        } catch {
            clusterLog?.rolledBack()
            // Discards what was counted in this transaction: it was rolled back.
            _ = (outbox.drainFinished(), counter.drain(), counter.drainUpdates(), drainCodeCounts())
            outbox.rolledBack()
            sequences.discard()
            strayCounts.removeAll()
            responseCounts.removeAll()
            throw error
        }
    }

    /// Returns what was counted and starts again at zero. Call it after each commit.
    func drainCodeCounts() -> SignInCodeCounts {
        defer { codeCounts = SignInCodeCounts() }
        return codeCounts
    }

    /// The open orders of a page of ``openOrders(_:)``.
    private static let openPage = 500

    /// Calls `each` for every open order, those that were changed longest ago first. Used at the start to restore job
    /// assignments. Reads pages, because a result is in memory as a whole.
    package func openOrders(_ each: (Order) -> Void) throws(DatabaseError) {
        var position: IdlePosition? = .start
        while let last = position {
            let page = try orders.idle(after: last, most: Self.openPage)
            for (order, _) in page { each(order) }
            position = page.count == Self.openPage ? page.last?.position : nil
        }
    }

    /// Executes a command, whether or not it has an idempotency key.
    func executeOnce(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        // The sign-in may have ended while the request's body was on its way.
        if let refusal = try refusal(of: transaction.issued.sender) { return .rejected(refusal) }
        return try transaction.issued.command.execute(transaction)
    }

    /// What a command is executed in.
    func transaction(for issued: IssuedCommand, _ now: Int64) -> Transaction {
        var context = CommandContext(
            sender: issued.sender, now: now, idTime: idTime(now), correlationID: issued.correlationID,
            expectedVersions: issued.expectedVersions, rules: rules)
        context.trips = trips
        return Transaction(issued: issued, context: context, stores: self)
    }

    /// Counts an order or a route that the gateway has ended.
    func countEnded(_ reply: CommandReply) {
        if case .committed(let result) = reply, result.audit != nil { counter.counts.endedJobs += 1 }
    }

    /// Makes a plan and writes it. If a rule forbids the command, replies with the rule's error.
    func execute(
        _ command: IssuedCommand, _ now: Int64, _ makePlan: (inout DispatchPlanner) throws(RuleError) -> DispatchPlan
    ) throws(DatabaseError) -> CommandReply {
        let plan: DispatchPlan
        do throws(RuleError) { plan = try makePlan(&planner) } catch { return .rejected(error) }
        var result = CommandResult(
            body: encode(plan.response, command.correlationID), notifications: plan.notifications)
        (result.audit, result.isRepetition) = (plan.audit, plan.isRepetition)
        if let order = plan.order { result.effects.append(.orderChanged(order)) }
        if let card = plan.driver { result.effects.append(.cardShown(card)) }
        if let account = plan.account {
            result.effects.append(.accountChanged(AccountChange(account, formerDriverID: plan.audit?.before?.driverID)))
        }
        result.repetitionBody = plan.repetition.map { encode($0, command.correlationID) }
        let lanes: Set<PushLane>
        (result.sequences, lanes) = try write(plan, command, now)
        if !lanes.isEmpty { result.effects.append(.lanesWoken(lanes)) }
        return .committed(result)
    }

    /// The result of a command that publishes nothing.
    func result(_ response: CommandResponse, of command: IssuedCommand) -> CommandResult {
        CommandResult(body: encode(response, command.correlationID))
    }

    /// - Returns: the sequence numbers of the plan's notifications, and the push lanes that have new jobs.
    private func write(
        _ plan: DispatchPlan, _ command: IssuedCommand, _ now: Int64
    ) throws(DatabaseError) -> (sequences: [Int64], lanes: Set<PushLane>) {
        if database.canPrefetch { try prefetch(plan, now: now) }
        let sequences = try plan.notifications.map { notification throws(DatabaseError) in
            try self.sequences.next(channel: notification.channel, now: now)
        }
        if let order = plan.order { try orders.store(order, now: now) }
        if let route = plan.route { try routes.store(route, now: now) }
        if let card = plan.driver { try drivers.store(card, now: now) }
        if let account = plan.account { try accounts.store(account) }
        if let batch = plan.batch { try batches.store(batch) }
        if let availability = plan.availability { try outbox.availability.store(availability, now: now) }
        for (notification, sequence) in zip(plan.notifications, sequences) {
            try notifications.append(
                LoggedNotification(
                    notification: notification, sequence: sequence, correlationID: command.correlationID,
                    actor: command.actor.key, action: plan.audit?.action ?? command.command.name, readAt: nil))
            counter.counts.add(.created, of: notification.event)
        }
        for push in plan.pushes { try addToInboxes(push, of: plan.notifications, now) }
        if let entry = plan.audit { try audit(entry, firstNotification: plan.notifications.first?.id) }
        try removePosition(after: plan)
        if plan.pushes.count > Self.pushesMax {
            try outbox.enqueueLater(plan.pushes)
            backgroundTasks.insert(.broadcasts)
            return (sequences, [])
        }
        if plan.pushes.contains(where: \.isForManyDrivers) { backgroundTasks.insert(.broadcasts) }
        return (sequences, try outbox.enqueue(plan.pushes, of: plan.notifications, now: now))
    }

    /// The most pushes that a command creates itself: an announcement names up to a thousand drivers. Those of more are
    /// created in the background (``PushOutbox/enqueueLater(_:)``).
    static let pushesMax = 20

    /// Writes and deletes as many pages as a command may need, to find out whether the store can be written.
    func probeWriting() throws(DatabaseError) {
        try transaction { () throws(DatabaseError) in try probe.insert() }
        try transaction { () throws(DatabaseError) in try probe.remove() }
    }

    /// Appends an entry to the audit log.
    func audit(_ entry: AuditEntry, firstNotification: String? = nil) throws(DatabaseError) {
        try auditTable.append(entry, id: auditIDs.next(at: idTime(entry.at)), firstNotification: firstNotification)
    }

    /// Milliseconds by which the time in an id may be ahead of the trusted time.
    private static let idLeadMax: Int64 = 60_000

    /// The time for ids that are created at `now`. Ids only increase, so an id with a time that lies far ahead would
    /// make all later ids lie ahead, too, long after the wall clock has been corrected.
    private func idTime(_ now: Int64) -> Int64 { now - max(0, clockLead - Self.idLeadMax) }
}

extension PushIntent {
    fileprivate var isForManyDrivers: Bool {
        switch audience {
        case .everyDriver, .onlineDrivers: true
        case .driver, .customer, .booking: false
        }
    }
}
