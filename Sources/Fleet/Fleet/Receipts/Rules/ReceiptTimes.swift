/// When a notification first reached each stage with any of its recipients: milliseconds since 1970, nil if it has not.
package struct ReceiptTimes: Equatable, Sendable {
    /// It was written to a connection of a recipient.
    package let writtenAt: Int64?
    /// A recipient's device confirmed it.
    package let confirmedAt: Int64?
    /// A recipient's app reported a step, or the recipient marked it as read.
    package let acknowledgedAt: Int64?

    package init(writtenAt: Int64? = nil, confirmedAt: Int64? = nil, acknowledgedAt: Int64? = nil) {
        self.writtenAt = writtenAt
        self.confirmedAt = confirmedAt
        self.acknowledgedAt = acknowledgedAt
    }

    /// How far the notification has come at a moment.
    /// - Parameter expiresAt: when the notification expires.
    package func state(expiresAt: Int64, now: Int64) -> ReceiptState {
        if acknowledgedAt != nil { return .acknowledged }
        if confirmedAt != nil { return .confirmed }
        if expiresAt <= now { return .expired }
        return writtenAt == nil ? .created : .written
    }
}

/// How far a notification has come. The raw value is its name in the ops API.
package enum ReceiptState: String, CaseIterable, Sendable {
    case created, written, confirmed, acknowledged
    /// Its lifetime has ended, and nobody has confirmed or acknowledged it.
    case expired
}

/// A notification in the log, with how far it has come.
package struct NotificationReport: Equatable, Sendable {
    package let logged: LoggedNotification
    package let times: ReceiptTimes
    package let state: ReceiptState

    /// - Parameter now: the moment for which ``state`` holds, in milliseconds since 1970.
    package init(_ logged: LoggedNotification, _ times: ReceiptTimes, now: Int64) {
        self.logged = logged
        self.times = times
        state = times.state(expiresAt: logged.notification.expiresAt, now: now)
    }
}
