/// A notification in the log, with its position in its channel.
package struct LoggedNotification: Equatable, Sendable {
    package let notification: Notification
    /// 1, 2, 3… within its channel, in commit order.
    package let sequence: Int64
    /// The correlation id of the command that caused the notification.
    package let correlationID: String
    /// ``Identity/key`` of the user whose action caused the notification.
    package let actor: String
    /// The action's name in the audit log, or ``Command/name`` if there is no audit entry.
    package let action: String
    /// Milliseconds since 1970; nil if the recipient has not read it.
    package let readAt: Int64?

    package init(
        notification: Notification, sequence: Int64, correlationID: String, actor: String, action: String, readAt: Int64?
    ) {
        self.notification = notification
        self.sequence = sequence
        self.correlationID = correlationID
        self.actor = actor
        self.action = action
        self.readAt = readAt
    }
}
