/// One notification for one device, as the store leases it to a ``PushLane``.
package struct PushJob: Equatable, Sendable {
    /// The job's key in the store.
    package let number: Int64
    package let notification: Notification
    /// ``PushIntent/entity``.
    package let entity: PushIntent.Entity?
    /// ``Identity/key`` of the recipient.
    package let recipient: String
    package let device: Device
    /// The number of earlier attempts to send the job.
    package let attempts: Int
    /// The number of the recipient's unread notifications, including this one: at least 1.
    package let badge: Int
    package let preferences: Preferences
    /// Whether a dispatcher has the notification pushed once more.
    package let isReminder: Bool

    /// The device to push to.
    package struct Device: Equatable, Sendable {
        /// 32 hexadecimal digits: a digest of provider and token.
        package let id: String
        package let token: DeviceToken
        /// When the app last registered the device: milliseconds since 1970.
        package let lastSeenAt: Int64

        package init(id: String, token: DeviceToken, lastSeenAt: Int64) {
            self.id = id
            self.token = token
            self.lastSeenAt = lastSeenAt
        }
    }

    package init(
        number: Int64, notification: Notification, entity: PushIntent.Entity?, recipient: String, device: Device,
        attempts: Int = 0, badge: Int = 1, preferences: Preferences = .init(), isReminder: Bool = false
    ) {
        self.number = number
        self.notification = notification
        self.entity = entity
        self.recipient = recipient
        self.device = device
        self.attempts = attempts
        self.badge = badge
        self.preferences = preferences
        self.isReminder = isReminder
    }
}
