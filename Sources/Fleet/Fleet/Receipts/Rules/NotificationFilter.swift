/// Which notifications of the log a list contains.
package struct NotificationFilter: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        case only(ReceiptState)
        /// For one person or for all drivers, not expired, and neither confirmed nor acknowledged in the time for it.
        case unconfirmed

        /// Nil if no state has this name.
        package init?(name: String) {
            if name == "unconfirmed" {
                self = .unconfirmed
            } else if let state = ReceiptState(rawValue: name) {
                self = .only(state)
            } else {
                return nil
            }
        }
    }

    /// Nil for all channels.
    package let channel: String?
    /// Nil for all states.
    package let state: State?
    /// The latest time of creation, in milliseconds since 1970.
    package let createdUntil: Int64

    package init(channel: String? = nil, state: State? = nil, createdUntil: Int64 = .max) {
        self.channel = channel
        self.state = state
        self.createdUntil = createdUntil
    }

    /// Whether the list contains a notification. Its channel is not compared.
    package func includes(_ report: NotificationReport) -> Bool {
        let notification = report.logged.notification
        guard notification.createdAt <= createdUntil else { return false }
        return switch state {
        case nil: true
        case .only(let state): report.state == state
        case .unconfirmed: notification.hasOwner && (report.state == .created || report.state == .written)
        }
    }
}
