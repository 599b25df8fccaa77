import Access
import Primitives

/// Handles the reports of push lanes: records the results of their jobs, and leases the next jobs to them.
extension PushOutbox {
    /// The handling of one report ends at most this number of expired jobs, and queues at most this number of due
    /// retries. The handling of the next report continues with the others.
    static let changedJobsMax = 200
    /// Milliseconds. If the clock was set back by more than this, waiting jobs get an earlier due time, so that they do
    /// not wait until the clock reaches their old one.
    private static let clockSlack: Int64 = 1_000

    /// The reply to a lane's report.
    struct PushReportReply {
        var lease: PushLease
        /// Lanes other than the reporting one that have new jobs.
        var woken: Set<PushLane> = []
    }

    /// Records a lane's results and leases as many jobs as the lane has capacity for. Call it in a transaction: it
    /// writes to several tables.
    func handle(_ report: PushReport, now: Int64) throws(DatabaseError) -> PushReportReply {
        let lane = report.lane
        var reply = PushReportReply(lease: PushLease(lane: lane, worker: report.worker))
        if report.isFirst {
            leftBehind.insert(lane)
            _ = try requeue(lane, most: Self.takeoverMax)
        }
        for outcome in report.outcomes { try record(outcome, now, &reply) }
        reply.lease.dropped = try expire(lane, now: now - clockLead, limit: Self.changedJobsMax)
        try queueDueRetries(lane, now)
        reply.lease.nextDueAt = try jobs.nextDueAt(lane)
        // The background task goes on.
        guard !isLeftBehind(lane) else {
            reply.lease.hasMore = true
            return reply
        }
        let isExhausted = try claim(lane, most: report.capacity, now, &reply.lease)
        let isQueued = isExhausted ? false : try jobs.firstTurn(lane) != nil
        reply.lease.hasMore = isQueued || reply.lease.nextDueAt.map { $0 <= now } ?? false
        reply.woken.remove(lane)
        return reply
    }

    // MARK: Results

    /// Records one result, and removes the device if the provider rejected its token for good.
    private func record(_ outcome: PushOutcome, _ now: Int64, _ reply: inout PushReportReply) throws(DatabaseError) {
        if case .released = outcome.result { try devices.release(id: outcome.job.device.id) }
        let outcome = try corrected(outcome, reply.lease.lane, now)
        let job = outcome.job
        if case .undecided = outcome.result {
            let moment = outcome.removal?.ifSeenBefore ?? now
            return try devices.quarantine(id: job.device.id, ifSeenBefore: moment, now: now)
        }
        if case .accepted = outcome.result { try learnEnvironment(of: job.device, &reply) }
        // If the token was replaced during the attempt, its environment does not matter any more.
        if case .moved(_, let reason) = outcome.result,
            let lane = try jobs.requeue(job.number, unlessFor: job.device.id, reason: reason)
        {
            reply.woken.insert(lane)
        }
        if let removal = outcome.removal {
            // If the token was replaced during the attempt, the job is queued again for the new token.
            if case .failed(let reason) = outcome.result,
                let lane = try jobs.requeue(job.number, unlessFor: job.device.id, reason: reason)
            {
                reply.woken.insert(lane)
                countRetry(in: reply.lease.lane)
            }
            try remove(job.device.id, removal, now, &reply.lease)
        }
        // The job's lane is woken even if the job has ended: the next push of the same order may wait for it. It is
        // another lane than the reporting one if the device was registered anew during the attempt.
        switch try jobs.record(outcome, now: now) {
        case .unchanged: break
        case .ended(let lane):
            switch outcome.result {
            case .accepted where try jobs.isFirstAccepted(job):
                counter.counts.add(.pushed, of: job.notification.event)
                try countEarlierEffects(of: job, by: reply.lease.lane)
                if Offer.isOffer(event: job.notification.event) {
                    counter.counts.occurrences.offers.append(.pushed(notificationID: job.notification.id, at: now))
                }
                let seconds = try arrivals.seconds(toldBy: job.notification.id, event: job.notification.event, now: now)
                if let seconds { counter.counts.occurrences.arrivalPushSeconds.append(seconds) }
                try report(.pushed, job, now)
            case .failed(let reason):
                count(FailedPush(job, reason: reason), in: reply.lease.lane)
                if try !jobs.mayArrive(job) { try report(.pushFailed, job, now) }
            default: break
            }
            if let lane { reply.woken.insert(lane) }
        case .open(let lane):
            if try jobs.cancelIfStale(job.number, now: now) { count(1, as: .cancelled, in: reply.lease.lane) }
            if let lane { reply.woken.insert(lane) }
        }
    }

    /// Tells dispatchers what became of a push.
    private func report(_ state: NotificationUpdate.State, _ job: PushJob, _ now: Int64) throws(DatabaseError) {
        guard let logged = try notifications.notification(id: job.notification.id) else { return }
        counter.add(NotificationUpdate(logged, state, at: now))
    }

    /// Changes two results because of what lanes do not know:
    ///
    /// - A lane compares with the wall clock. If the wall clock has jumped, jobs that the lane reports as expired for that
    ///   reason are queued again.
    /// - A token with an unknown environment is in the sandbox's lane because production has rejected it. If the sandbox's
    ///   lane releases it, the configuration seems to be wrong, so production is tried again, too.
    private func corrected(_ outcome: PushOutcome, _ lane: PushLane, _ now: Int64) throws(DatabaseError) -> PushOutcome {
        let expiresAt = outcome.job.notification.expiresAt
        switch outcome.result {
        case .expired where expiresAt <= now && expiresAt > now - clockLead:
            return PushOutcome(outcome.job, .returned, wasTried: outcome.wasTried)
        case .released(let reason) where lane == .apnsSandbox:
            guard let device = try devices.device(id: outcome.job.device.id), device.environment == nil else { return outcome }
            return PushOutcome(outcome.job, .moved(to: .apns, reason: reason), wasTried: outcome.wasTried)
        default: return outcome
        }
    }

    /// A lane's provider has accepted a push: if the token's APNs environment was unknown, it is that of the lane. The
    /// device's other open jobs move to the lane.
    private func learnEnvironment(of device: PushJob.Device, _ reply: inout PushReportReply) throws(DatabaseError) {
        guard device.token.provider == .apns, device.token.environment == nil,
            let environment = reply.lease.lane.environment,
            let stored = try devices.setEnvironment(environment, of: device.id)
        else { return }
        reply.lease.foundEnvironments.append(environment)
        try jobs.moveLane(of: stored.owner, stored.address, shift: turns.offset(from: device.token.lane, to: stored.lane))
    }

    private func remove(
        _ id: String, _ removal: DeviceRemoval, _ now: Int64, _ lease: inout PushLease
    ) throws(DatabaseError) {
        // A rejection by one environment of APNs says nothing about a token that the other has accepted since.
        if let environment = try devices.device(id: id)?.environment, environment != lease.lane.environment {
            return try devices.release(id: id)
        }
        guard let device = try devices.remove(id: id, ifSeenBefore: removal.ifSeenBefore, now: now) else { return }
        try cancel(of: device.owner, deviceID: id, reason: "device_removed", now: now)
        try bookings.removeIfNoDevices(device.owner)
        lease.removed.append(device.removed(removal.reason))
    }

    // MARK: Due retries

    /// Queues the jobs whose retry is due. A lane sends its jobs in the order of their turns, and each turn has at most
    /// one job per recipient. A retry gets a turn after the last job of its recipient that has not ended, so that a
    /// thousand retries for one recipient do not delay the other recipients. The turn is also after the lane's current
    /// one: a lane that a configuration error has stopped tests its provider with one job at a time, and would
    /// otherwise always use the same job.
    private func queueDueRetries(_ lane: PushLane, _ now: Int64) throws(DatabaseError) {
        let last = lastReports.updateValue(now, forKey: lane) ?? now
        if now < last - Self.clockSlack,
            try jobs.limitDueTimes(lane, to: now + Timing.pushWaitAfterSetBack, most: Self.changedJobsMax) == Self.changedJobsMax
        {
            // The next report goes on.
            lastReports[lane] = last
        }
        for (number, recipient) in try jobs.due(lane, now: now, most: Self.changedJobsMax) {
            try jobs.queueRetry(number, turn: max(try nextTurn(of: recipient, in: lane), turns.current(lane) + 1))
        }
    }

    // MARK: Next jobs

    /// Leases the next jobs of a lane, at most `most`. Ends the jobs among them that must not be sent.
    /// - Returns: whether no job is left that can be leased now. Jobs may still be queued: they wait for the result of
    ///   another job, and the report that contains this result leases them.
    private func claim(
        _ lane: PushLane, most: Int, _ now: Int64, _ lease: inout PushLease
    ) throws(DatabaseError) -> Bool {
        guard most > 0 else { return false }
        let candidates = try jobs.next(lane, most: most)
        lease.jobs.reserveCapacity(candidates.count)
        for candidate in candidates {
            guard candidate.expiresAt > now - clockLead else {
                try drop(candidate, .expired, now, &lease)
                continue
            }
            // The wall clock has jumped, or the machine was off for long. If it shows the right time, the push is out of
            // date, so it must not be sent; if not, it must not be ended.
            guard candidate.expiresAt > now else {
                try jobs.postpone(candidate.number, until: now + Timing.pushWaitWhileDoubtful)
                lease.dropped += 1
                continue
            }
            switch try job(candidate, in: lane) {
            case .success(let job):
                try jobs.lease(candidate.number)
                lease.jobs.append(job)
            case .failure(let reason):
                try drop(candidate, reason, now, &lease)
            }
            turns.advance(lane, to: candidate.turn)
        }
        return candidates.count < most
    }

    /// Why a queued job is ended without sending it.
    private enum DropReason: Error {
        case expired
        case cancelled(reason: String)
        case unreadable
    }

    /// Ends a candidate without sending it.
    private func drop(
        _ candidate: PushJobTable.Candidate, _ reason: DropReason, _ now: Int64, _ lease: inout PushLease
    ) throws(DatabaseError) {
        switch reason {
        case .expired:
            try jobs.drop(candidate.number, .expired, reason: nil, now: now)
            count(1, as: .expired, in: lease.lane)
        case .cancelled(let reason):
            try jobs.drop(candidate.number, .cancelled, reason: reason, now: now)
            count(1, as: .cancelled, in: lease.lane)
        case .unreadable:
            let reason = "device_unreadable"
            try jobs.drop(candidate.number, .failed, reason: reason, now: now)
            count(
                FailedPush(
                    notificationID: candidate.notificationID, event: candidate.notification?.event ?? "",
                    recipient: candidate.recipient, device: candidate.deviceID, attempts: candidate.attempts, reason: reason),
                in: lease.lane)
        }
        lease.dropped += 1
    }

    /// The job as the lane needs it, or why it is not sent.
    private func job(
        _ candidate: PushJobTable.Candidate, in lane: PushLane
    ) throws(DatabaseError) -> Result<PushJob, DropReason> {
        guard let notification = candidate.notification else {
            return .failure(.cancelled(reason: "notification_removed"))
        }
        let device: PushJobTable.Candidate.Device
        switch candidate.device {
        // One of very many jobs when the device got another lane, of which the newest were moved. Here the token is not valid.
        case .found(let found) where found.isKnownToBeElsewhere(than: lane): return .failure(.cancelled(reason: "replaced"))
        case .found(let found): device = found
        case .gone: return .failure(.cancelled(reason: "device_removed"))
        case .unreadable:
            unreadableRows.add("the provider of a device", of: candidate.recipient)
            return .failure(.unreadable)
        }
        guard !candidate.isSuperseded else { return .failure(.cancelled(reason: "superseded")) }
        if let arrival = candidate.arrival { return .failure(.cancelled(reason: arrival)) }
        guard let token = keys.open(device.sealed, keyID: device.keyID, deviceID: candidate.deviceID) else {
            unreadableRows.add("the token of a device", of: candidate.recipient)
            return .failure(.unreadable)
        }
        return .success(
            PushJob(
                number: candidate.number, notification: notification, entity: candidate.entity,
                recipient: candidate.recipient,
                device: PushJob.Device(
                    id: candidate.deviceID,
                    token: DeviceToken(
                        provider: device.provider, platform: device.platform, environment: device.environment, text: token),
                    lastSeenAt: device.lastSeenAt),
                attempts: candidate.attempts, badge: try badge(of: candidate.recipient, with: notification),
                preferences: decodedPreferences(candidate.preferences, of: candidate.recipient),
                isReminder: candidate.isReminder))
    }

    /// The badge to show: the number of unread notifications in the recipient's inbox, plus 1 if `notification` is not
    /// in it, because it is for all drivers. At least 1, even if `notification` has been read already.
    private func badge(of recipient: String, with notification: Notification) throws(DatabaseError) -> Int {
        guard let person = Identity(key: recipient) else { return 1 }
        let unread = try sequences.unread(channel: person.channel)
        let isInInbox = person.role == .customer || notification.channel.hasSameBytes(as: person.channel)
        return isInInbox ? max(1, unread) : unread + 1
    }

    /// The stored preferences; the defaults if there are none or they cannot be read.
    func decodedPreferences(_ json: [UInt8]?, of owner: String) -> Preferences {
        guard let json else { return Preferences() }
        if let preferences = Preferences(json: json) { return preferences }
        unreadableRows.add("preferences", of: owner)
        return Preferences()
    }
}

extension PushJobTable.Candidate.Device {
    /// Whether the device gets its pushes from another lane. Production is tried first if an APNs environment is unknown.
    fileprivate func isKnownToBeElsewhere(than lane: PushLane) -> Bool {
        guard provider == .fcm || environment != nil else { return lane == .fcm }
        return DeviceToken(provider: provider, platform: nil, environment: environment, text: "").lane != lane
    }
}
