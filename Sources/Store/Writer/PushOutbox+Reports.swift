import Access
import FleetRules

extension PushOutbox {
    /// Jobs that one report lets expire, and that it wakes: what is left comes with the next.
    private static let turnoverMax = 500
    /// Milliseconds for which a count of the queue is good.
    private static let measureLifetime: Int64 = 2_000

    /// A clock that was set back by more would have retries wait until it is where it was.
    private static let clockSlack: Int64 = 1_000
    private static let waitAfterSetBack: Int64 = 5_000

    /// What a lane's report came to.
    struct ReportReply {
        var lease: PushLease
        /// Other lanes that have more to do now.
        var woken: Set<PushLane> = []
    }

    /// Notes what a lane says, and hands it what it has room for. In a transaction, for it writes to several tables.
    func handle(_ report: PushReport, now: Int64) throws(DatabaseError) -> ReportReply {
        let lane = report.lane
        var reply = ReportReply(lease: PushLease(lane: lane))
        for outcome in report.outcomes { try record(outcome, now, &reply) }
        reply.lease.dropped = try expire(lane, now: now, limit: Self.turnoverMax)
        try wakeDue(lane, now)
        reply.lease.nextDueAt = try jobs.nextDueAt(lane)
        if report.capacity > 0 { try claim(lane, most: report.capacity, now, &reply.lease) }
        let isQueued = try jobs.firstTurn(lane) != nil
        reply.lease.hasMore = isQueued || reply.lease.nextDueAt.map { $0 <= now } ?? false
        try queueDepth(lane, now, &reply.lease)
        reply.woken.remove(lane)
        return reply
    }

    // MARK: What became of jobs

    private func record(_ outcome: PushOutcome, _ now: Int64, _ reply: inout ReportReply) throws(DatabaseError) {
        let job = outcome.job
        if let removal = outcome.removal {
            // The token was replaced while the old one was tried: then the new one is.
            if case .failed(let reason) = outcome.result,
                let lane = try jobs.requeue(job.number, ifNotFor: job.device.id, reason: reason)
            {
                reply.woken.insert(lane)
                countRetry(in: reply.lease.lane)
            }
            try remove(job.device.id, removal, now, &reply.lease)
        }
        switch try jobs.record(outcome, now: now) {
        case .unchanged: break
        case .ended:
            if case .failed(let reason) = outcome.result { count(FailedPush(job, reason: reason), in: reply.lease.lane) }
        case .open(let lane):
            if try jobs.cancelIfStale(job.number, now: now) {
                count(1, as: .cancelled, in: reply.lease.lane)
            } else if let lane {
                reply.woken.insert(lane)
            }
        }
    }

    private func remove(
        _ id: String, _ removal: DeviceRemoval, _ now: Int64, _ supply: inout PushLease
    ) throws(DatabaseError) {
        guard let device = try devices.remove(id: id, ifSeenBefore: removal.ifSeenBefore, now: now) else { return }
        try cancel(of: device.owner, deviceID: id, reason: "device_removed", now: now)
        try bookings.removeIfNoDevices(device.owner)
        supply.removed.append(device.removed(removal.reason))
    }

    // MARK: What is due

    /// Queues what has waited long enough, each behind what its recipient has in the queue, and behind the present turn: a
    /// thousand retries for one would otherwise stand before everybody, and a stopped lane would probe with one job for ever.
    private func wakeDue(_ lane: PushLane, _ now: Int64) throws(DatabaseError) {
        if now < lastReportAt - Self.clockSlack { try jobs.advanceDueTimes(lane, to: now + Self.waitAfterSetBack) }
        lastReportAt = now
        for (number, recipient) in try jobs.due(lane, now: now, most: Self.turnoverMax) {
            try jobs.wake(number, turn: max(try nextTurn(of: recipient, in: lane), turns.current(lane) + 1))
        }
    }

    // MARK: What is next

    private func claim(_ lane: PushLane, most: Int, _ now: Int64, _ supply: inout PushLease) throws(DatabaseError) {
        supply.jobs.reserveCapacity(min(most, 1_000))
        for pick in try jobs.next(lane, most: most) {
            guard pick.expiresAt > now else {
                try drop(pick, .expired, now, &supply)
                continue
            }
            switch try job(pick) {
            case .success(let job):
                try jobs.take(pick.number)
                supply.jobs.append(job)
            case .failure(let reason):
                try drop(pick, reason, now, &supply)
            }
            turns.advance(lane, to: pick.turn)
        }
    }

    /// Why a picked job cannot be sent.
    private enum DropReason: Error {
        case expired
        case cancelled(reason: String)
        case unreadable
    }

    private func drop(
        _ pick: PushJobTable.Candidate, _ reason: DropReason, _ now: Int64, _ supply: inout PushLease
    ) throws(DatabaseError) {
        switch reason {
        case .expired:
            try jobs.drop(pick.number, .expired, reason: nil, now: now)
            count(1, as: .expired, in: supply.lane)
        case .cancelled(let reason):
            try jobs.drop(pick.number, .cancelled, reason: reason, now: now)
            count(1, as: .cancelled, in: supply.lane)
        case .unreadable:
            let reason = "device_unreadable"
            try jobs.drop(pick.number, .failed, reason: reason, now: now)
            count(
                FailedPush(
                    notificationID: pick.notificationID, event: pick.notification?.event ?? "", recipient: pick.recipient,
                    device: pick.deviceID, attempts: pick.attempts, reason: reason), in: supply.lane)
        }
        supply.dropped += 1
    }

    private func job(_ pick: PushJobTable.Candidate) throws(DatabaseError) -> Result<PushJob, DropReason> {
        guard let notification = pick.notification else {
            return .failure(.cancelled(reason: "notification_removed"))
        }
        let device: PushJobTable.Candidate.Device
        switch pick.device {
        case .found(let found): device = found
        case .gone: return .failure(.cancelled(reason: "device_removed"))
        case .unreadable:
            unreadableRows.add("the provider of a device", of: pick.recipient)
            return .failure(.unreadable)
        }
        guard !pick.isSuperseded else { return .failure(.cancelled(reason: "superseded")) }
        guard let token = keys.open(device.sealed, keyID: device.keyID, deviceID: pick.deviceID) else {
            unreadableRows.add("the device", of: pick.recipient)
            return .failure(.unreadable)
        }
        return .success(
            PushJob(
                number: pick.number, notification: notification, entity: pick.entity, recipient: pick.recipient,
                device: PushJob.Device(
                    id: pick.deviceID,
                    token: DeviceToken(
                        provider: device.provider, platform: device.platform, environment: device.environment, text: token),
                    lastSeenAt: device.lastSeenAt),
                attempts: pick.attempts, badge: try badge(of: pick.recipient, with: notification),
                preferences: readable(pick.preferences, of: pick.recipient)))
    }

    /// The recipient's number of unread notifications, this one included. The channel's count already includes it, unless it
    /// has been read.
    private func badge(of recipient: String, with notification: Notification) throws(DatabaseError) -> Int {
        guard let channel = Identity(key: recipient)?.channel else { return 1 }
        let unread = try sequences.unread(channel: channel)
        return notification.channel.isSame(as: channel) ? max(1, unread) : unread + 1
    }

    /// The stored preferences; the defaults if there are none or they cannot be read.
    func readable(_ json: [UInt8]?, of owner: String) -> Preferences {
        guard let json else { return Preferences() }
        if let preferences = Preferences(json: json) { return preferences }
        unreadableRows.add("preferences", of: owner)
        return Preferences()
    }

    // MARK: How much there is

    private func queueDepth(_ lane: PushLane, _ now: Int64, _ supply: inout PushLease) throws(DatabaseError) {
        var measure = depths[lane]
        if let known = measure, !(known.at...known.at + Self.measureLifetime).contains(now) { measure = nil }
        if measure == nil {
            let (depth, oldestAt) = try jobs.measure(lane)
            measure = QueueDepth(at: now, depth: depth, oldestAt: oldestAt)
            depths[lane] = measure
        }
        supply.depth = measure?.depth ?? 0
        supply.oldestAt = measure?.oldestAt
    }
}
