import FleetRules

/// What the writer publishes after a transaction: after a failed one, too, the error replies and rejected reports.
/// `Gateway/CommitPublisher` defines the order of publication.
package struct Commit: Sendable {
    /// The push jobs that each lane (one per provider and APNs environment) is to send next. A lane asks for them with
    /// a report of the results of its earlier jobs; the leases are in the order of these reports.
    package var leases: [PushLease] = []
    /// Reports whose results were not written. The lanes send them again later.
    package var rejectedReports: [PushReport] = []
    /// A reply per command, in commit order.
    package var replies: [(request: CommandRequest, reply: CommandReply)] = []
    /// Lanes that have new jobs, other than the lanes named in ``leases`` and ``replies``.
    package var wake: Set<PushLane> = []
    /// For each lane: its jobs that failed, that expired or were cancelled before they were sent, or that were queued
    /// again because the device got a new token.
    package var finished: [PushLane: FinishedPushes] = [:]
    /// Devices that retention removed because they were not registered again within `push.stale_days` days.
    package var removed: [RemovedDevice] = []
    /// What happened to notifications, for the metrics.
    package var counts = DeliveryCounts()

    var isEmpty: Bool {
        leases.isEmpty && rejectedReports.isEmpty && replies.isEmpty && wake.isEmpty && finished.isEmpty && removed.isEmpty
            && counts.isEmpty
    }

    /// The id of the last notification.
    package var lastNotificationID: String? {
        for (_, reply) in replies.reversed() {
            if case .committed(let result) = reply, let last = result.notifications.last { return last.id }
        }
        return nil
    }

    /// Adds the content of a later transaction, which is then published with this one.
    mutating func append(_ later: Commit) {
        leases += later.leases
        rejectedReports += later.rejectedReports
        replies += later.replies
        wake.formUnion(later.wake)
        finished.merge(later.finished) { $0.adding($1) }
        removed += later.removed
        counts.add(later.counts)
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
