import Access
import JSON
import Primitives

/// Records what an app reports about notifications.
package struct RecordTelemetry: Command {
    package let events: [TelemetryEvent]

    package init(_ events: [TelemetryEvent]) { self.events = events }

    /// The most stray steps that are stored per user: telemetry events for notifications that are not in the log,
    /// because they were deleted or another system sent them. Further events are not stored; the response is the same.
    static let strayStepsMax = 1_000

    package var name: String { "telemetry" }
    package var subject: String { "\(events.count) events" }
    /// The step, the marks of the notification, what becomes needless, and the number of unread ones.
    package var rows: Int { events.count * (5 + CommandExecutor.needlessPushesMax) }
    /// Some 5 events cost the store as much as one command.
    package var tokens: Int { max(1, (events.count + 4) / 5) }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        var search = EntitySearch(transaction.actor)
        for event in events { try transaction.record(event, &search) }
        return transaction.committed(.telemetry)
    }
}

extension Transaction {
    fileprivate func record(_ event: TelemetryEvent, _ search: inout EntitySearch) throws(DatabaseError) {
        let counter = stores.counter
        var notification = try notification(withReportedID: event.notificationID)
        let isMatchedByEntity = notification == nil && event.entityID != nil
        if isMatchedByEntity { notification = try stores.notification(about: event, &search) }
        if notification == nil, try strayCount() >= RecordTelemetry.strayStepsMax {
            counter.counts.droppedSteps += 1
            return
        }
        // The step is stored even if the notification was sent to another user: the step's subject shows which user
        // reported it.
        let step = NotificationStep(
            event.kind.rawValue, of: notification?.id ?? event.notificationID, at: now, subject: actor.key,
            reportedAt: event.timestamp ?? Timestamp.iso8601(milliseconds: now),
            detail: event.detail(of: notification?.id, isMatchedByEntity: isMatchedByEntity))
        guard try stores.steps.record(step, isStray: notification == nil) else {
            counter.counts.repeatedSteps += 1
            return
        }
        if notification == nil { stores.strayCounts.addOne(to: actor.key) }
        counter.counts.addStep(event.kind, ofType: event.type)
        if let notification {
            if isMatchedByEntity { counter.counts.stepsByEntity += 1 }
            try record(event.kind, of: notification, isCertain: !isMatchedByEntity)
        }
    }

    /// Finds the notification that an app means, by the ids that a phone can know: the notification's own, the
    /// `apns-id`, FCM's id of the message, and the collapse id. A collapse id may belong to many notifications; the app
    /// means the newest that was pushed to this person.
    private func notification(withReportedID id: String) throws(DatabaseError) -> NotificationTable.Head? {
        let (notifications, jobs) = (stores.notifications, stores.outbox.jobs)
        if let found = try notifications.head(of: id) { return found }
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
        _ kind: TelemetryEvent.Kind, of notification: NotificationTable.Head, isCertain: Bool
    ) throws(DatabaseError) {
        let counter = stores.counter
        guard try isRecipient(of: notification) else { return }
        counter.counts.add(kind.state, of: notification.event)
        try stores.outbox.countEffect(of: kind, notification, by: actor.key)
        if kind == .viewed {
            counter.counts.occurrences.viewSeconds.append(Double(max(0, now - notification.createdAt)) / 1_000)
        }
        try stores.recordOffer(kind, of: notification, by: actor, now)
        if isCertain { try recordAcknowledgement(by: kind, of: notification) }
        if kind == .received,
            let seconds = try stores.outbox.arrivals.seconds(toldBy: notification.id, event: notification.event, now: now)
        {
            counter.counts.occurrences.arrivalReceivedSeconds.append(seconds)
        }
    }

    /// Marks a notification as acknowledged and, if the person acted, as seen.
    private func recordAcknowledgement(
        by kind: TelemetryEvent.Kind, of notification: NotificationTable.Head
    ) throws(DatabaseError) {
        if notification.channel.hasSameBytes(as: actor.channel)
            || notification.channel.hasSameBytes(as: FleetChannel.drivers.name)
        {
            try stores.acknowledge(notification, by: actor, now: now)
        }
        guard kind != .received else { return }
        let wasUnread: Bool
        if notification.channel.hasSameBytes(as: actor.channel) {
            let readTo = try stores.sequences.readTo(channel: actor.channel)
            wasUnread = try stores.notifications.markSeen(notification.id, channel: actor.channel, readTo: readTo, now: now)
        } else {
            let isRead = try stores.readMarks.covers(entry: notification.id, of: actor.key)
            wasUnread = try stores.inbox.markSeen(notification.id, for: actor.key, now: now) && !isRead
        }
        if wasUnread { try stores.sequences.subtract(unread: 1, unmarked: 0, channel: actor.channel) }
    }

    private func isRecipient(of notification: NotificationTable.Head) throws(DatabaseError) -> Bool {
        if notification.channel.hasSameBytes(as: actor.channel) { return true }
        if actor.role == .driver { return notification.channel.hasSameBytes(as: FleetChannel.drivers.name) }
        return try stores.inbox.afterSequence(of: notification.id, for: actor.key) != nil
    }

    private func strayCount() throws(DatabaseError) -> Int {
        try stores.strayCounts.count(of: actor.key) { () throws(DatabaseError) in try stores.steps.strayCount(of: actor.key) }
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
