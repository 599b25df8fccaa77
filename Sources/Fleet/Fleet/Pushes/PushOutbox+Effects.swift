/// Counts what pushes have led to, for the metrics: once per person and notification, at the moment at which both the push
/// was accepted and the person's app has reported.
extension PushOutbox {
    /// Counts a step that a recipient's app has reported for the first time.
    func countEffect(
        of kind: TelemetryEvent.Kind, _ notification: NotificationTable.Head, by owner: String
    ) throws(DatabaseError) {
        let id = notification.id
        guard kind != .dismissed, let lane = try jobs.firstAccepted(of: id, for: owner)?.lane else { return }
        if kind == .received {
            let isConfirmed = try deliveries.isConfirmed(notificationID: id, by: owner)
            if !isConfirmed { count(.delivered, of: notification.event, by: lane) }
        } else if try !steps.kinds(of: id, by: owner).isSuperset(of: [.viewed, .accepted]) {
            count(.opened, of: notification.event, by: lane)
        }
    }

    /// Counts that a person's device has confirmed a notification for the first time.
    func countConfirmation(of notification: Notification, by owner: String) throws(DatabaseError) {
        guard !lanes.isEmpty, let lane = try jobs.firstAccepted(of: notification.id, for: owner)?.lane,
            try !steps.kinds(of: notification.id, by: owner).contains(.received)
        else { return }
        count(.delivered, of: notification.event, by: lane)
    }

    /// Counts what the person's app has reported before a provider accepted the first push.
    func countEarlierEffects(of job: PushJob, by lane: PushLane) throws(DatabaseError) {
        let (id, owner) = (job.notification.id, job.recipient)
        let reported = try steps.kinds(of: id, by: owner)
        let isConfirmed = try deliveries.isConfirmed(notificationID: id, by: owner)
        if isConfirmed || reported.contains(.received) { count(.delivered, of: job.notification.event, by: lane) }
        if !reported.isDisjoint(with: [.viewed, .accepted]) { count(.opened, of: job.notification.event, by: lane) }
    }

    private func count(_ kind: NotificationCounts.PushEffect.Kind, of event: String, by lane: PushLane) {
        counter.counts.add(kind, ofPushBy: lane.provider, type: rules[event].dataType)
    }
}
