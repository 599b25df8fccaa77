import JSON

/// The actor, an admin, pushes a notification for all drivers once more, to those who have neither confirmed nor
/// acknowledged it.
package struct Remind: Command {
    package let notificationID: String

    package init(notificationID: String) { self.notificationID = notificationID }

    package var name: String { "remind" }
    package var priority: RequestPriority { .bulk }
    package var subject: String { notificationID }
    package var rows: Int { 3 }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let (stores, now) = (transaction.stores, transaction.now)
        guard let logged = try stores.notifications.notification(id: notificationID) else {
            return .rejected(RuleError(.unknownNotification, notificationID))
        }
        guard logged.notification.isForEveryDriver else {
            return .rejected(RuleError(.notForEveryDriver, notificationID))
        }
        guard logged.notification.expiresAt > transaction.trustedNow else {
            return .rejected(RuleError(.notificationExpired, notificationID))
        }
        let count = try stores.outbox.remind(of: logged, now: now)
        if count > 0 { stores.backgroundTasks.insert(.broadcasts) }
        let entry = AuditEntry.reminder(of: logged.notification, count, transaction)
        try stores.audit(entry)
        var result = transaction.result(.reminder(count))
        result.audit = entry
        return .committed(result)
    }
}

extension AuditEntry {
    /// Records who had a notification pushed once more, and to how many drivers. It belongs to the notification's order
    /// or route, if its pushes replace each other, since only then the notification names it.
    fileprivate static func reminder(of notification: Notification, _ count: Int, _ transaction: Transaction) -> AuditEntry {
        var details = JSONWriter()
        details.object {
            $0.member("notificationId", notification.id)
            $0.member("reminded", count)
        }
        return AuditEntry(
            at: transaction.now, actor: transaction.actor.key, action: "remind",
            subject: notification.subject, correlationID: transaction.issued.correlationID,
            details: details.bytes)
    }
}
