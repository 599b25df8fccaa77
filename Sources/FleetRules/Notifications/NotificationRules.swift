/// The part of the notification catalogue that planning needs: lifetime, collapsing, and whether to push.
package struct NotificationRules: Equatable, Sendable {
    /// The rule for one event.
    package struct Rule: Equatable, Sendable {
        /// Seconds from the event to its expiry.
        package let lifetimeSeconds: Int
        /// Whether a newer notification about the same order or route supersedes the event's notifications.
        package let collapsesByJob: Bool
        package let push: Push

        /// Which of an event's notifications are pushed to devices.
        package enum Push: Equatable, Sendable {
            case never
            /// Notifications for one person.
            case personal
            /// Notifications for one person, and notifications for all drivers.
            case broadcast
        }

        package init(lifetimeSeconds: Int, collapsesByJob: Bool, push: Push = .personal) {
            self.lifetimeSeconds = lifetimeSeconds
            self.collapsesByJob = collapsesByJob
            self.push = push
        }
    }

    /// By event name or notification type. The notifications of an event without a rule expire after one day, do not
    /// collapse and are not pushed.
    package var rules: [String: Rule] {
        didSet { index = CatalogueIndex(rules.keys) }
    }
    /// The maximum size of an event's `data`, in bytes.
    package var eventBytesMax: Int
    private var index: CatalogueIndex

    package init(rules: [String: Rule] = [:], eventBytesMax: Int = 10_240) {
        self.rules = rules
        index = CatalogueIndex(rules.keys)
        self.eventBytesMax = eventBytesMax
    }

    /// The rule for the event or, if there is none, for its notification type.
    package subscript(event: String) -> Rule { index.entryName(ofEvent: event).flatMap { rules[$0] } ?? Self.unlisted }

    /// The rule of every event that has none in ``rules``.
    private static let unlisted = Rule(lifetimeSeconds: 86_400, collapsesByJob: false, push: .never)
}
