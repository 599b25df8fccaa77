import Access
import JSON
import Primitives

/// Records telemetry, and fills customers' inboxes.
extension CommandExecutor {
    /// The most stray steps that are stored per user: telemetry events for notifications that are not in the log,
    /// because they were deleted or another system sent them. Further events are not stored; the response is the same.
    static let strayStepsMax = 1_000

    // MARK: Telemetry

    func record(_ events: [TelemetryEvent], _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandResult {
        let actor = command.actor
        var search = EntitySearch(actor)
        for event in events {
            var notification = try notification(withReportedID: event.notificationID, by: actor)
            let isMatchedByEntity = notification == nil && event.entityID != nil
            if isMatchedByEntity { notification = try self.notification(about: event, &search) }
            if notification == nil, try strayCount(of: actor.key) >= Self.strayStepsMax {
                counter.counts.droppedSteps += 1
                continue
            }
            // The step is stored even if the notification was sent to another user: the step's subject shows which user
            // reported it.
            let step = NotificationStep(
                event.kind.rawValue, of: notification?.id ?? event.notificationID, at: now, subject: actor.key,
                reportedAt: event.timestamp ?? Timestamp.iso8601(milliseconds: now),
                detail: event.detail(of: notification?.id, isMatchedByEntity: isMatchedByEntity))
            guard try steps.record(step, isStray: notification == nil) else {
                counter.counts.repeatedSteps += 1
                continue
            }
            if notification == nil { strayCounts.addOne(to: actor.key) }
            counter.counts.addStep(event.kind, ofType: event.type)
            if let notification {
                if isMatchedByEntity { counter.counts.stepsByEntity += 1 }
                try record(event.kind, of: notification, by: actor, isCertain: !isMatchedByEntity, now)
            }
        }
        return result(.telemetry, of: command)
    }

    /// Finds the notification that an app means, by the ids that a phone can know: the notification's own, the
    /// `apns-id`, FCM's id of the message, and the collapse id. A collapse id may belong to many notifications; the app
    /// means the newest that was pushed to this person.
    private func notification(
        withReportedID id: String, by actor: Identity
    ) throws(DatabaseError) -> NotificationTable.Head? {
        if let found = try notifications.head(of: id) { return found }
        let jobs = outbox.jobs
        if let found = try jobs.notificationID(ofMessage: id) { return try notifications.head(of: found) }
        // The gateway writes the UUID of an `apns-id` in lower case, Apple's frameworks write UUIDs in upper case.
        if let found = try jobs.notificationID(ofMessage: id.lowercased()) { return try notifications.head(of: found) }
        guard let found = try jobs.newestNotificationID(withCollapseID: id, pushedTo: actor.key) else { return nil }
        return try notifications.head(of: found)
    }

    /// Counts a step that was stored for the first time, and marks the notification as seen if the recipient acted.
    /// - Parameter isCertain: whether the app has named the notification. What it may not have meant counts, but is neither
    ///   acknowledged nor read.
    private func record(
        _ kind: TelemetryEvent.Kind, of notification: NotificationTable.Head, by actor: Identity, isCertain: Bool, _ now: Int64
    ) throws(DatabaseError) {
        guard try isRecipient(actor, of: notification) else { return }
        counter.counts.add(kind.state, of: notification.event)
        try outbox.countEffect(of: kind, notification, by: actor.key)
        if kind == .viewed {
            counter.counts.occurrences.viewSeconds.append(Double(max(0, now - notification.createdAt)) / 1_000)
        }
        try recordOffer(kind, of: notification, by: actor, now)
        if isCertain {
            try recordAcknowledgement(by: kind, of: notification, actor, now)
        }
        if kind == .received,
            let seconds = try outbox.arrivals.seconds(toldBy: notification.id, event: notification.event, now: now)
        {
            counter.counts.occurrences.arrivalReceivedSeconds.append(seconds)
        }
    }

    /// Marks a notification as acknowledged and, if the person acted, as seen.
    private func recordAcknowledgement(
        by kind: TelemetryEvent.Kind, of notification: NotificationTable.Head, _ actor: Identity, _ now: Int64
    ) throws(DatabaseError) {
        if notification.channel.hasSameBytes(as: actor.channel)
            || notification.channel.hasSameBytes(as: FleetChannel.drivers.name)
        {
            try acknowledge(notification, by: actor, now: now)
        }
        guard kind != .received else { return }
        let wasUnread: Bool
        if notification.channel.hasSameBytes(as: actor.channel) {
            let readTo = try sequences.readTo(channel: actor.channel)
            wasUnread = try notifications.markSeen(notification.id, channel: actor.channel, readTo: readTo, now: now)
        } else {
            let isRead = try readMarks.covers(entry: notification.id, of: actor.key)
            wasUnread = try inbox.markSeen(notification.id, for: actor.key, now: now) && !isRead
        }
        if wasUnread { try sequences.subtract(unread: 1, unmarked: 0, channel: actor.channel) }
    }

    private func isRecipient(
        _ person: Identity, of notification: NotificationTable.Head
    ) throws(DatabaseError) -> Bool {
        if notification.channel.hasSameBytes(as: person.channel) { return true }
        if person.role == .driver { return notification.channel.hasSameBytes(as: FleetChannel.drivers.name) }
        return try inbox.afterSequence(of: notification.id, for: person.key) != nil
    }

    private func strayCount(of subject: String) throws(DatabaseError) -> Int {
        try strayCounts.count(of: subject) { () throws(DatabaseError) in try steps.strayCount(of: subject) }
    }

    // MARK: Inboxes

    /// Adds a notification to the inboxes of the customers to whom it is pushed, unless it is on their own channel.
    func addToInboxes(
        _ push: PushIntent, of notifications: [Notification], _ now: Int64
    ) throws(DatabaseError) {
        let customers: [Identity]
        switch push.audience {
        case .customer(let id): customers = [Identity(role: .customer, id: id)]
        case .booking(let reference):
            customers = try outbox.bookings.owners(of: reference).owners.compactMap { Identity(key: $0) }
        case .driver, .everyDriver, .onlineDrivers: return
        }
        guard let notification = notifications.first(where: { $0.id == push.notificationID }) else { return }
        for customer in customers where !notification.channel.hasSameBytes(as: customer.channel) {
            let sequence = try sequences.addUnread(channel: customer.channel, now: now)
            try inbox.add(notification, for: customer.key, afterSequence: sequence)
        }
    }
}

extension TelemetryEvent {
    /// The step's ``NotificationStep/detail``.
    /// - Parameter id: the id of the notification; nil if it is not in the log.
    fileprivate func detail(of id: String?, isMatchedByEntity: Bool) -> [UInt8] {
        var detail = JSONWriter()
        detail.object {
            $0.member("type", type)
            $0.member("entityId", ifPresent: entityID)
            $0.member("metadata", jsonIfPresent: metadata)
            if let id, !id.hasSameBytes(as: notificationID) { $0.member("reportedAs", notificationID) }
            if id != nil, isMatchedByEntity { $0.member("matchedBy", "entity") }
        }
        return detail.bytes
    }
}
