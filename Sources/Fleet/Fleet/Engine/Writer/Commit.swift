/// What the writer publishes after a transaction. After a failed one, these are error replies and the rejected requests.
/// `FleetGateway/CommitPublisher` defines the order of publication.
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
    /// A reply per subscription, in commit order.
    package var subscriptions: [CursorReply] = []
    /// Subscriptions that were not executed: the store cannot be written.
    package var rejectedSubscriptions: [CursorRequest] = []
    /// The number of receipts that are lost: they cannot be written, or too many waited while the disk was full. What
    /// they confirm is repeated.
    package var droppedReceipts = 0
    /// The notifications that were confirmed for the first time by one of their owner's devices.
    package var confirmations: [Confirmation] = []
    /// What dispatchers are to learn of notifications that they have sent, in the order in which it happened.
    package var updates: [NotificationUpdate] = []
    /// What happened to notifications, for the metrics.
    package var counts = NotificationCounts()
    /// What happened to one-time codes.
    package var codes = SignInCodeCounts()
    /// In a cluster: who waited until this node has applied what was committed before, or the store cannot be read.
    package var looked: [ReplyAddress] = []
    /// In a cluster: what other nodes have committed before this, and this commit's own entry of the log.
    package var log: [LogItem] = []

    var isEmpty: Bool {
        leases.isEmpty && rejectedReports.isEmpty && replies.isEmpty && wake.isEmpty && finished.isEmpty && removed.isEmpty
            && subscriptions.isEmpty && rejectedSubscriptions.isEmpty && droppedReceipts == 0 && confirmations.isEmpty
            && updates.isEmpty && counts.isEmpty && codes.isEmpty && log.isEmpty && looked.isEmpty
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
        subscriptions += later.subscriptions
        rejectedSubscriptions += later.rejectedSubscriptions
        droppedReceipts += later.droppedReceipts
        confirmations += later.confirmations
        updates += later.updates
        counts.add(later.counts)
        codes.add(later.codes)
        log += later.log
        looked += later.looked
    }
}

/// The first confirmation of a notification by a device of its owner.
package struct Confirmation: Equatable, Sendable {
    package let notificationID: String
    package let event: String
    package let channel: String
    /// ``Identity/key``.
    package let owner: String
    /// ``ReceiptKey/device``.
    package let device: String
    /// Milliseconds since 1970.
    package let createdAt: Int64
    /// Milliseconds since 1970.
    package let confirmedAt: Int64

    /// From the creation to the confirmation. Not negative, although the clock may have been set back.
    package var seconds: Double { Double(max(0, confirmedAt - createdAt)) / 1_000 }

    package init(
        notificationID: String, event: String, channel: String, owner: String, device: String, createdAt: Int64,
        confirmedAt: Int64
    ) {
        self.notificationID = notificationID
        self.event = event
        self.channel = channel
        self.owner = owner
        self.device = device
        self.createdAt = createdAt
        self.confirmedAt = confirmedAt
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

extension Commit {
    /// A commit that contains the same reply for all commands of a batch, and its other requests as rejected.
    init(notExecuted batch: [StoreWriter.Request], reply: CommandReply) {
        for request in batch {
            switch request {
            case .command(let request): replies.append((request, reply))
            case .report(let report): rejectedReports.append(report)
            case .receipts: break
            // Decided by what the node has.
            case .look(let address): if let address { looked.append(address) }
            case .subscription(let request): rejectedSubscriptions.append(request)
            }
        }
    }
}
