import Access
import FleetRules

/// What is to reach phones: which jobs a decision comes to, and whose turn it is.
///
/// Turns are those of start-time fair queueing (Goyal, Vin, Cheng 1996): a job's turn is the one that its lane has come
/// to, or the one behind its recipient's last open job, whichever is later, and lanes take jobs by turn. So the k-th job of
/// one recipient stands behind everybody's k-th, and ten thousand for one delay nobody else's first.
final class PushOutbox {
    let jobs: PushJobTable
    let devices: DeviceTable
    let bookings: DeviceBookingTable
    let broadcasts: PushBroadcastTable
    let preferences: PreferenceTable
    let notifications: NotificationTable
    let sequences: ChannelSequenceTable
    let keys: DeviceKeys
    /// The lanes that are served; for phones of others no jobs are made.
    let lanes: Set<PushLane>
    /// Milliseconds after which a phone that was not seen is nobody's any more.
    let staleAfter: Int64
    let unreadableRows = UnreadableRows()
    /// How many jobs wait, as last counted.
    var depths: [PushLane: QueueDepth] = [:]

    /// What has ended here since somebody asked, by lane.
    private(set) var finished: [PushLane: FinishedPushes] = [:]

    // As the rest of a ledger's memory, these only ever advance: a transaction rolled back leaves a gap.
    private var lastNumber: Int64
    private var turns: [PushLane: Int64] = [:]
    /// When lanes were dealt with last, by the clock that may be set.
    var lastReportAt = Int64.min / 2

    struct QueueDepth {
        let at: Int64
        let depth: Int
        let oldestAt: Int64?
    }

    init(
        _ database: Database, _ settings: StoreWriter.Options, _ notifications: NotificationTable,
        _ sequences: ChannelSequenceTable
    ) throws(DatabaseError) {
        self.notifications = notifications
        self.sequences = sequences
        jobs = PushJobTable(database: database)
        devices = DeviceTable(database: database, unreadableRows: unreadableRows)
        bookings = DeviceBookingTable(database: database)
        broadcasts = PushBroadcastTable(database: database)
        preferences = PreferenceTable(database: database)
        keys = settings.keys
        lanes = settings.lanes
        staleAfter = Int64(settings.staleDays) * 86_400_000
        lastNumber = try jobs.lastNumber()
        try jobs.requeueSending()
        for lane in PushLane.allCases { turns[lane] = try jobs.firstTurn(lane) ?? 0 }
    }

    // MARK: Turns

    /// The turn that a lane has come to.
    func turn(of lane: PushLane) -> Int64 { turns[lane, default: 0] }

    /// A job of this turn goes to its lane.
    func advance(_ lane: PushLane, to turn: Int64) { turns[lane] = max(turn, self.turn(of: lane)) }

    /// The turn of somebody's next job in a lane.
    func nextTurn(of recipient: String, in lane: PushLane) throws(DatabaseError) -> Int64 {
        guard let last = try jobs.lastTurn(of: recipient, in: lane) else { return turn(of: lane) }
        return max(turn(of: lane), last + 1)
    }

    // MARK: Queueing

    /// Makes the jobs that intents come to; answers the lanes that have more to do now.
    func enqueue(_ intents: [PushIntent], of told: [Notification], now: Int64) throws(DatabaseError) -> Set<PushLane> {
        guard !lanes.isEmpty, !intents.isEmpty else { return [] }
        var woken: Set<PushLane> = []
        // Intents come in the order of their notifications.
        var rest = told[...]
        for intent in intents {
            guard let index = rest.firstIndex(where: { $0.id == intent.notificationID }) else {
                preconditionFailure("a push of a notification that was not told before it")
            }
            rest = rest[index...]
            let pushing = Draft(told[index], intent.entity, now: now)
            switch intent.audience {
            case .driver(let id): try enqueue(pushing, for: Identity(role: .driver, id: id).key, &woken)
            case .customer(let id): try enqueue(pushing, for: Identity(role: .customer, id: id).key, &woken)
            case .booking(let reference):
                for owner in try bookings.owners(of: reference) { try enqueue(pushing, for: owner, &woken) }
            case .everyDriver(let except): try broadcasts.add(intent, except: except)
            }
        }
        return woken
    }

    /// A notification on its way to phones.
    private struct Draft {
        let notification: Notification
        let entity: PushIntent.Entity?
        let now: Int64

        init(_ notification: Notification, _ entity: PushIntent.Entity?, now: Int64) {
            self.notification = notification
            self.entity = entity
            self.now = now
        }
    }

    private func enqueue(_ pushing: Draft, for owner: String, _ woken: inout Set<PushLane>) throws(DatabaseError) {
        try enqueue(pushing, on: try devices.reachable(owner, since: pushing.now - staleAfter)[...], &woken)
    }

    /// - Parameter phones: all of one owner.
    private func enqueue(
        _ pushing: Draft, on phones: ArraySlice<DeviceTable.Address>, _ woken: inout Set<PushLane>
    ) throws(DatabaseError) {
        var places: [PushLane: Int64] = [:]
        for phone in phones where lanes.contains(phone.lane) {
            var place = places[phone.lane] ?? -1
            if place < 0 { place = try self.nextTurn(of: phone.owner, in: phone.lane) }
            let notification = pushing.notification
            let draft = PushJobTable.NewPushJob(
                notificationID: notification.id, entity: pushing.entity,
                collapseKey: notification.isSupersedable ? notification.collapseKey : nil, device: phone,
                queuedAt: pushing.now, expiresAt: notification.expiresAt)
            guard try jobs.queue(draft, number: lastNumber + 1, turn: place) else { continue }
            lastNumber += 1
            places[phone.lane] = place + 1
            woken.insert(phone.lane)
        }
    }

    // MARK: Every driver

    /// Phones that one step looks at.
    private static let expansionMax = 500

    /// Makes some more jobs of the oldest notification for every driver.
    /// - Returns: whether there was one, and the lanes that have more to do now.
    func expandBroadcast(now: Int64) throws(DatabaseError) -> (isBusy: Bool, woken: Set<PushLane>) {
        guard let audience = try broadcasts.first() else { return (false, []) }
        guard let notification = try notifications.notification(id: audience.notificationID)?.notification,
            notification.expiresAt > now
        else {
            try broadcasts.remove(audience.notificationID)
            return (true, [])
        }
        let page = try devices.reachableDrivers(after: audience.afterOwner, since: now - staleAfter, most: Self.expansionMax)
        let pushing = Draft(notification, audience.entity, now: now)
        var woken: Set<PushLane> = []
        for theirs in page.devices.split(byOwnersExcept: audience.except) { try enqueue(pushing, on: theirs, &woken) }
        if let last = page.lastOwner {
            try broadcasts.advance(audience.notificationID, to: last)
        } else {
            try broadcasts.remove(audience.notificationID)
        }
        return (true, woken)
    }

    // MARK: What ends here

    /// Cancels what is not sent yet to somebody, or to one of his devices; answers how many jobs.
    @discardableResult
    func cancel(of recipient: String, deviceID: String? = nil, reason: String, now: Int64) throws(DatabaseError) -> Int {
        let cancelled = try jobs.cancel(of: recipient, deviceID: deviceID, reason: reason, now: now)
        for lane in cancelled { count(1, as: .cancelled, in: lane) }
        return cancelled.count
    }

    /// Ends what is not sent and would come too late; answers how many jobs, at most `most`.
    func expire(_ lane: PushLane, now: Int64, limit: Int) throws(DatabaseError) -> Int {
        let expired = try jobs.expire(lane, now: now, most: limit)
        count(expired, as: .expired, in: lane)
        return expired
    }

    func count(_ jobs: Int, as state: PushState, in lane: PushLane) {
        guard jobs > 0 else { return }
        switch state {
        case .expired: finished[lane, default: FinishedPushes()].expired += jobs
        case .cancelled: finished[lane, default: FinishedPushes()].cancelled += jobs
        case .queued, .waiting, .sending, .accepted, .failed: preconditionFailure("no job ends here as \(state.rawValue)")
        }
    }

    func count(_ failed: FailedPush, in lane: PushLane) { finished[lane, default: FinishedPushes()].failed.append(failed) }

    func countRetry(in lane: PushLane) { finished[lane, default: FinishedPushes()].retried += 1 }

    /// What has ended here, in transactions that were committed.
    func drainFinished() -> [PushLane: FinishedPushes] {
        defer { finished = [:] }
        return finished
    }

    /// Ends what is in no lane that there is: somebody has changed the row. Answers how many, at most `most`.
    func failOrphans(now: Int64, limit: Int) throws(DatabaseError) -> Int {
        let recipients = try jobs.failOrphans(now: now, most: limit)
        if let first = recipients.first { unreadableRows.add("the lane of a push", of: first) }
        return recipients.count
    }

    func drainUnreadableRows() -> [String] { unreadableRows.drain() }
}

extension Notification {
    /// Whether a newer one may make it out of date.
    fileprivate var isSupersedable: Bool { !collapseKey.isSame(as: id) }
}

extension [DeviceTable.Address] {
    /// The phones of one owner after the other, without one owner's.
    fileprivate func split(byOwnersExcept except: String?) -> [ArraySlice<DeviceTable.Address>] {
        var parts: [ArraySlice<DeviceTable.Address>] = []
        var start = startIndex
        for index in indices where index + 1 == endIndex || !self[index].owner.isSame(as: self[index + 1].owner) {
            if !(except.map { self[index].owner.isSame(as: $0) } ?? false) { parts.append(self[start...index]) }
            start = index + 1
        }
        return parts
    }
}

extension String {
    /// As bytes: Swift's == compares what Unicode holds equivalent, and two such texts name two things.
    func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
