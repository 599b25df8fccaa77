/// Push jobs that the store ends without sending them: as cancelled, expired or failed.
extension PushOutbox {
    /// Cancels the unsent jobs of a recipient: those for one device, or all of them if `deviceID` is nil. Returns their
    /// number.
    @discardableResult
    func cancel(of recipient: String, deviceID: String? = nil, reason: String, now: Int64) throws(DatabaseError) -> Int {
        let cancelled = try jobs.cancel(of: recipient, deviceID: deviceID, reason: reason, now: now)
        for lane in cancelled { count(1, as: .cancelled, in: lane) }
        return cancelled.count
    }

    /// Cancels the recipient's unsent pushes of notifications that have arrived otherwise: those of the `fallback` kind.
    /// - Parameters:
    ///   - reason: `confirmed` or `acknowledged`.
    ///   - most: the most jobs. The others are cancelled when their turn comes.
    /// - Returns: their number.
    @discardableResult
    func cancelNeedless(
        of recipient: String, reason: String, now: Int64, most: Int = PushJobTable.cancelledMax
    ) throws(DatabaseError) -> Int {
        guard !lanes.isEmpty else { return 0 }
        let cancelled = try jobs.cancelNeedless(of: recipient, reason: reason, now: now, most: most)
        for lane in cancelled { count(1, as: .cancelled, in: lane) }
        return cancelled.count
    }

    /// Ends unsent jobs of a lane whose notifications have expired. Returns their number, at most `limit`.
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
        case .queued, .waiting, .sending, .accepted, .failed:
            preconditionFailure("only expired and cancelled jobs are counted by number, not \(state.rawValue) ones")
        }
    }

    func count(_ failed: FailedPush, in lane: PushLane) { finished[lane, default: FinishedPushes()].failed.append(failed) }

    func countRetry(in lane: PushLane) { finished[lane, default: FinishedPushes()].retried += 1 }

    /// Returns and clears ``finished``. Call it after each commit.
    func drainFinished() -> [PushLane: FinishedPushes] {
        defer { finished = [:] }
        return finished
    }

    /// Marks jobs as failed whose stored lane is unknown. Only a row that was edited by hand can have such a lane.
    /// Returns the number of jobs, at most `limit`.
    func failJobsOfUnknownLanes(now: Int64, limit: Int) throws(DatabaseError) -> Int {
        let recipients = try jobs.failJobsOfUnknownLanes(now: now, most: limit)
        if let first = recipients.first { unreadableRows.add("the lane of a push", of: first) }
        return recipients.count
    }

    func drainUnreadableRows() -> [String] { unreadableRows.drain() }
}
