/// Requests a push for a notification. The store resolves the audience to devices.
package struct PushIntent: Equatable, Sendable {
    /// The people to whose devices the notification is pushed.
    package enum Audience: Hashable, Sendable {
        case driver(String)
        case customer(String)
        /// The customers whose tokens contained the booking's reference when they registered a device.
        case booking(String)
        /// All drivers with a device, except the one with the ``Identity/key`` `except`: the same action already pushes
        /// another notification to this driver. Nil: no exception.
        case everyDriver(except: String?)
        /// Of the drivers of ``everyDriver(except:)`` those who are approved and online.
        case onlineDrivers(except: String?)
    }

    /// The order or route that the app opens when the user taps the push.
    package enum Entity: Equatable, Sendable {
        /// An order, which the app calls a job, by its bookingId.
        case job(String)
        case route(String)
    }

    package let notificationID: String
    package let audience: Audience
    /// Nil if the action concerns no order or route; the notification's data then determines what the app opens.
    package let entity: Entity?
    /// Whether the push is needless once the recipient has confirmed or acknowledged the notification.
    package let isFallback: Bool

    package init(notificationID: String, audience: Audience, entity: Entity?, isFallback: Bool = false) {
        self.isFallback = isFallback
        self.notificationID = notificationID
        self.audience = audience
        self.entity = entity
    }
}
