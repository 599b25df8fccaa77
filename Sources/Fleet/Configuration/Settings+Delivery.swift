extension Settings {
    /// Guaranteed delivery on durable channels.
    package struct Delivery: Equatable, Sendable {
        /// The seconds after which a notification that no device of its owner has confirmed counts as unconfirmed (1–300):
        /// a push that waits for the confirmation is sent then.
        package var confirmSeconds = 5
        /// The age in hours up to which the notifications of a person are replayed (1–720).
        package var backlogHours = 48
        /// The most notifications that are replayed to a subscriber (1–100,000).
        package var backlogLimit = 1_000

        package init() {}
    }
}
