/// That a notification is to reach somebody's phones as well. Who has phones, the store knows.
package struct PushIntent: Equatable, Sendable {
    /// Whose phones.
    package enum Audience: Hashable, Sendable {
        case driver(String)
        case customer(String)
        /// The customers whose tokens named the booking when they registered a phone.
        case booking(String)
        /// All drivers that have one, but not whom the same action has reached already (``Identity/key``).
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
    /// Nil where the notification's own data says.
    package let entity: Entity?

    package init(notificationID: String, audience: Audience, entity: Entity?) {
        self.notificationID = notificationID
        self.audience = audience
        self.entity = entity
    }
}
