import Access
import Crypto

/// Creates push jobs: one row per notification, device and round, in the transaction of the command that causes the push.
///
/// `+Reports` leases jobs to the lanes and records results, `+Broadcasts` creates the jobs of notifications for many
/// drivers, `+Takeover` queues again what an earlier process was sending, `+Finished` counts jobs that end without being
/// sent. Used only on the writer's thread.
final class PushOutbox {
    let jobs: PushJobTable
    let devices: DeviceTable
    let bookings: DeviceBookingTable
    let broadcasts: PushBroadcastTable
    let recipients: RecipientTable
    let availability: AvailabilityTable
    let preferences: PreferenceTable
    let notifications: NotificationTable
    let arrivals: ArrivalTimes
    let sequences: ChannelSequenceTable
    let counter: NotificationCounter
    let steps: NotificationStepTable
    let deliveries: ReceiptTable
    /// For the types of pushes.
    var rules: NotificationRules
    let keys: DeviceKeys
    /// The enabled push lanes (``PushLane``). Devices of other lanes get no jobs.
    let lanes: Set<PushLane>
    /// A device gets no pushes if its last registration is older than this, in milliseconds (`push.stale_days`).
    let staleAfter: Int64
    let unreadableRows = UnreadableRows()
    /// See ``CommandExecutor/clockLead``. Pushes expire, and devices are out of date, by the trusted time.
    var clockLead: Int64 = 0

    /// Jobs finished since the last ``drainFinished()``, by lane.
    var finished: [PushLane: FinishedPushes] = [:]

    /// The number of the last job. It only advances: if a transaction is rolled back, its numbers stay unused, which is
    /// harmless.
    private(set) var lastNumber: Int64
    /// The order in which each lane sends its jobs.
    var turns = FairQueueing()
    /// When each lane last reported, in wall-clock milliseconds since 1970. Detects a clock that was set back.
    var lastReports: [PushLane: Int64] = [:]
    /// The lanes whose jobs that are being sent are those of an earlier worker; see `+Takeover`.
    var leftBehind: Set<PushLane> = []
    /// Those of them of which the running transaction has queued the last jobs again.
    var requeued: Set<PushLane> = []

    init(
        _ database: Database, _ options: StoreWriter.Options, _ notifications: NotificationTable,
        _ sequences: ChannelSequenceTable, _ counter: NotificationCounter
    ) throws(DatabaseError) {
        self.counter = counter
        self.notifications = notifications
        arrivals = ArrivalTimes(notifications: notifications, orders: OrderTable(database: database))
        self.sequences = sequences
        rules = options.rules
        steps = NotificationStepTable(database: database)
        deliveries = ReceiptTable(database: database)
        jobs = PushJobTable(database: database)
        devices = DeviceTable(database: database, unreadableRows: unreadableRows)
        bookings = DeviceBookingTable(database: database)
        broadcasts = PushBroadcastTable(database: database)
        recipients = RecipientTable(database: database)
        availability = AvailabilityTable(database: database)
        preferences = PreferenceTable(database: database)
        keys = options.keys
        lanes = options.lanes
        staleAfter = Int64(options.staleDays) * 86_400_000
        try devices.countByLane()
        lastNumber = try jobs.lastNumber()
        // In a cluster, the node that leads does it.
        if options.member == nil {
            try takeOver()
            committed()
        }
    }

    /// Goes on after an earlier process, or the node that led before. What it was sending is queued again: the first slice
    /// now, which usually is all.
    func takeOver() throws(DatabaseError) {
        leftBehind = Set(PushLane.allCases)
        _ = try takeOverSome()
        for lane in PushLane.allCases { turns.advance(lane, to: try jobs.firstTurn(lane) ?? 0) }
        lastReports = [:]
    }

    /// Goes on after the last number of another node.
    func advanceNumbers(to number: Int64) { lastNumber = max(lastNumber, number) }

    // MARK: Creating jobs

    /// Creates the jobs for a command's push intents. The intents must be in the order of their notifications.
    /// - Returns: the lanes that have new jobs.
    func enqueue(_ intents: [PushIntent], of notifications: [Notification], now: Int64) throws(DatabaseError) -> Set<PushLane> {
        guard !lanes.isEmpty, !intents.isEmpty else { return [] }
        var woken: Set<PushLane> = []
        var rest = notifications[...]
        for intent in intents {
            guard let index = rest.firstIndex(where: { $0.id == intent.notificationID }) else {
                preconditionFailure("a push intent names a notification that is missing or out of order")
            }
            rest = rest[index...]
            let draft = Draft(
                notification: notifications[index], entity: intent.entity, isFallback: intent.isFallback, now: now)
            switch intent.audience {
            case .driver(let id): try enqueue(draft, for: Identity(role: .driver, id: id).key, &woken)
            case .customer(let id): try enqueue(draft, for: Identity(role: .customer, id: id).key, &woken)
            case .booking(let reference):
                try enqueue(draft, forCustomersOf: reference, &woken)
            case .everyDriver(let except):
                try broadcasts.add(intent, except: except, isForOnlineDrivers: false)
            case .onlineDrivers(let except):
                try broadcasts.add(intent, except: except, isForOnlineDrivers: true)
            }
        }
        return woken
    }

    /// A notification for which jobs are created, with the order or route that it concerns.
    struct Draft {
        let notification: Notification
        let entity: PushIntent.Entity?
        /// ``PushIntent/isFallback``
        var isFallback = false
        /// 0 for the notification's first push, n for its n-th reminder.
        var round: Int64 = 0
        let now: Int64
    }

    private func enqueue(_ draft: Draft, for owner: String, _ woken: inout Set<PushLane>) throws(DatabaseError) {
        try enqueue(draft, on: try devices(of: owner, for: draft)[...], &woken)
    }

    private func devices(of owner: String, for draft: Draft) throws(DatabaseError) -> [DeviceTable.Address] {
        try devices.reachable(owner, since: draft.now - clockLead - staleAfter)
    }

    /// The most devices of a booking's customers that get a push of it. If they have more, each customer has an equal share.
    static let bookingDevicesMax = 100
    /// The most unsent jobs of these customers that a push supersedes; of each customer an equal share. Further ones are
    /// cancelled when their turn comes.
    static let bookingCancelledMax = 100

    private func enqueue(
        _ draft: Draft, forCustomersOf reference: String, _ woken: inout Set<PushLane>
    ) throws(DatabaseError) {
        let (owners, areAll) = try bookings.owners(of: reference)
        let addresses = try owners.map { owner throws(DatabaseError) in try devices(of: owner, for: draft) }
        let fit = addresses.reduce(0) { $0 + $1.count } <= Self.bookingDevicesMax
        if !areAll || !fit { counter.counts.crowdedBookings += 1 }
        let share = fit ? Self.bookingDevicesMax : Self.bookingDevicesMax / owners.count
        let superseded = min(PushJobTable.cancelledMax, Self.bookingCancelledMax / max(1, owners.count))
        for devices in addresses { try enqueue(draft, on: devices.prefix(share), superseding: superseded, &woken) }
    }

    /// Says that a person's devices are about to be read. See ``Database/prefetch(_:_:)``.
    func prefetchDevices(of person: Identity, now: Int64) throws(DatabaseError) {
        guard !lanes.isEmpty else { return }
        try devices.prefetchReachable(person.key, since: now - clockLead - staleAfter)
    }

    /// Creates the jobs for the devices of one owner, and adds their lanes to `woken`. Cancels the owner's unsent jobs
    /// that the notification supersedes, at most `most`.
    func enqueue(
        _ draft: Draft, on devices: ArraySlice<DeviceTable.Address>, superseding most: Int = PushJobTable.cancelledMax,
        _ woken: inout Set<PushLane>
    ) throws(DatabaseError) {
        let notification = draft.notification
        let collapseKey = notification.isSupersedable ? StableID.collapseID(of: notification.collapseKey) : nil
        if let collapseKey, let owner = devices.first?.owner {
            try jobs.supersede(
                of: owner, collapseKey, before: notification.id, now: draft.now, most: most,
                onCancel: { [unowned self] lane in count(1, as: .cancelled, in: lane) })
        }
        var nextTurns: [PushLane: Int64] = [:]
        for device in devices where lanes.contains(device.lane) {
            // The earlier push reminds, too.
            if draft.round > 0, try jobs.isOpen(notification.id, on: device.id) { continue }
            var turn = nextTurns[device.lane] ?? -1
            if turn < 0 { turn = try nextTurn(of: device.owner, in: device.lane) }
            let job = PushJobTable.NewPushJob(
                notificationID: notification.id, entity: draft.entity, collapseKey: collapseKey, device: device,
                isFallback: draft.isFallback, round: draft.round,
                mayHaveEnded: notification.isForEveryDriver, queuedAt: draft.now, expiresAt: notification.expiresAt)
            guard try jobs.queue(job, number: lastNumber + 1, turn: turn) else { continue }
            lastNumber += 1
            nextTurns[device.lane] = turn + 1
            woken.insert(device.lane)
        }
    }

    /// The turn of a recipient's next job in a lane.
    func nextTurn(of recipient: String, in lane: PushLane) throws(DatabaseError) -> Int64 {
        turns.next(in: lane, after: try jobs.lastTurn(of: recipient, in: lane))
    }
}

extension Notification {
    /// Whether a newer notification of the same order or route supersedes this one. The collapse key is otherwise the
    /// notification's own id.
    fileprivate var isSupersedable: Bool { !collapseKey.hasSameBytes(as: id) }
}
