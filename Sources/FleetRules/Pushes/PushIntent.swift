/// Requests a push for a notification. The store resolves the audience to devices.
package struct PushIntent: Equatable, Sendable {
    /// The people whose devices get the push.
    package enum Audience: Hashable, Sendable {
        case driver(String)
        case customer(String)
        /// The customers whose tokens contained the booking's reference when they registered a device.
        case booking(String)
        /// All drivers with a device. `except` is the ``Identity/key`` of a driver who gets another push of the action.
        case everyDriver(except: String?)
    }

    /// What a tap opens.
    package enum Entity: Equatable, Sendable {
        /// By its bookingId.
        case job(String)
        case route(String)
    }

    package let notificationID: String
    package let audience: Audience
    /// Nil: the notification's own data determines it.
    package let entity: Entity?

    package init(notificationID: String, audience: Audience, entity: Entity?) {
        self.notificationID = notificationID
        self.audience = audience
        self.entity = entity
    }
}
