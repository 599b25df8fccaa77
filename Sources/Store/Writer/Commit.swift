import FleetRules

/// What the writer publishes after a transaction, whether the transaction was committed or failed.
/// `Gateway/CommitPublisher` defines the order of publication.
package struct Commit: Sendable {
    /// The jobs that push lanes get in reply to their reports, in the order of the reports.
    package var leases: [PushLease] = []
    /// Reports whose results were not written. The lanes send them again later.
    package var rejectedReports: [PushReport] = []
    /// A reply per command, in commit order.
    package var replies: [(request: CommandRequest, reply: CommandReply)] = []
    /// Lanes with new jobs besides those in ``leases`` and ``replies``.
    package var wake: Set<PushLane> = []
    /// For each lane: its jobs that failed, that ended unsent, or that were queued again for a new token.
    package var finished: [PushLane: FinishedPushes] = [:]
    /// Devices that retention removed because they were not registered again within `push.stale_days` days.
    package var removed: [RemovedDevice] = []

    var isEmpty: Bool {
        leases.isEmpty && rejectedReports.isEmpty && replies.isEmpty && wake.isEmpty && finished.isEmpty && removed.isEmpty
    }

    /// Adds the content of a later transaction, which is then published with this one.
    mutating func append(_ later: Commit) {
        leases += later.leases
        rejectedReports += later.rejectedReports
        replies += later.replies
        wake.formUnion(later.wake)
        finished.merge(later.finished) { $0.adding($1) }
        removed += later.removed
    }
}

extension FinishedPushes {
    fileprivate func adding(_ later: FinishedPushes) -> FinishedPushes {
        var sum = self
        sum.expired += later.expired
        sum.cancelled += later.cancelled
        sum.failed += later.failed
        sum.retried += later.retried
        return sum
    }
}
