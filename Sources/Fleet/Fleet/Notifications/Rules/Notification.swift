/// One event for one channel, to be appended to the log of notifications.
package struct Notification: Equatable, Sendable {
    /// A ULID.
    package let id: String
    /// The public name of the channel, which identifies the recipient: `driver-42`, `drivers-channel`.
    package let channel: String
    package let event: String
    /// A JSON object: the event's fields, then `notificationId` and `correlationId`.
    package let data: [UInt8]
    /// Milliseconds since 1970.
    package let createdAt: Int64
    /// Milliseconds since 1970. Expired notifications are not pushed.
    package let expiresAt: Int64
    /// A newer notification with the same key supersedes this one. The key is `order:CODE` or `route:ID`, or the
    /// notification's own id if no other notification may supersede it.
    package let collapseKey: String

    /// Until when it is worth publishing if the gateway was killed before it could: milliseconds since 1970. A dashboard
    /// that was away for more than an hour loads its state anew.
    package var publishUntil: Int64 {
        channel == FleetChannel.admin.name ? createdAt + Self.adminChannelMilliseconds : expiresAt
    }

    private static let adminChannelMilliseconds: Int64 = 3_600_000

    package init(
        id: String, channel: String, event: String, data: [UInt8], createdAt: Int64, expiresAt: Int64, collapseKey: String
    ) {
        self.id = id
        self.channel = channel
        self.event = event
        self.data = data
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.collapseKey = collapseKey
    }

    /// Whether the notification is for one person or for all drivers, so that its reader can confirm it.
    package var hasOwner: Bool {
        isForEveryDriver || Self.beginningsOfOwned.contains { channel.utf8.starts(with: $0.utf8) }
    }

    private static let beginningsOfOwned = [FleetChannel.driver("").name, FleetChannel.customer("").name]

    /// Whether the notification is for all drivers, on `drivers-channel`.
    package var isForEveryDriver: Bool { channel.hasSameBytes(as: FleetChannel.drivers.name) }

    /// The order or route that the notification is about; ``AuditEntry/Subject/fleet`` if it is about none, or supersedes no
    /// other notification. Stored notifications have nothing else that names it than the key.
    package var subject: AuditEntry.Subject { AuditEntry.Subject(collapseKey: collapseKey) }
}

extension AuditEntry.Subject {
    /// The key that the notifications about one order or route share; nil for an announcement.
    package var collapseKey: String? {
        switch self {
        case .order(let code): "order:\(code)"
        case .route(let id): "route:\(id)"
        case .account, .batch, .fleet: nil
        }
    }

    /// Reads ``collapseKey``. Compares bytes, because an id may begin with a combining mark.
    fileprivate init(collapseKey key: String) {
        if key.utf8.starts(with: "order:".utf8) {
            self = .order(String(Substring(key.utf8.dropFirst(6))))
        } else if key.utf8.starts(with: "route:".utf8) {
            self = .route(String(Substring(key.utf8.dropFirst(6))))
        } else {
            self = .fleet
        }
    }
}
