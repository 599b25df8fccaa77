import Access

/// Under which circumstances something is decided: by whom, when, and by which house rules.
package struct CommandContext: Sendable {
    package let actor: Identity
    /// Milliseconds since 1970.
    package let now: Int64
    package let correlationID: String
    /// Refuses the deed unless the order or route has this version.
    package let expectedVersion: Int?
    package let rules: NotificationRules

    package init(
        actor: Identity, now: Int64, correlationID: String, expectedVersion: Int? = nil, rules: NotificationRules = .init()
    ) {
        self.actor = actor
        self.now = now
        self.correlationID = correlationID
        self.expectedVersion = expectedVersion
        self.rules = rules
    }
}

/// What the catalogue of notifications decides of each event, as far as it matters before anything is pushed.
package struct NotificationRules: Equatable, Sendable {
    /// What is decided of one event.
    package struct Rule: Equatable, Sendable {
        package let lifetimeSeconds: Int
        /// Whether a newer notification of the same order or route supersedes it.
        package let collapsesByJob: Bool
        package let push: Push

        /// Whether it also reaches phones.
        package enum Push: Equatable, Sendable {
            case never
            /// When it is for one person.
            case personal
            /// Also when it is for all drivers.
            case broadcast
        }

        package init(lifetimeSeconds: Int, collapsesByJob: Bool, push: Push = .personal) {
            self.lifetimeSeconds = lifetimeSeconds
            self.collapsesByJob = collapsesByJob
            self.push = push
        }
    }

    /// By event name or type; what is not there lives a day, collapses with nothing, and is not pushed.
    package var rules: [String: Rule] {
        didSet { names = CatalogueIndex(rules.keys) }
    }
    /// The largest `data` of an event, in bytes.
    package var eventBytesMax: Int
    private var names: CatalogueIndex

    package init(rules: [String: Rule] = [:], eventBytesMax: Int = 10_240) {
        self.rules = rules
        names = CatalogueIndex(rules.keys)
        self.eventBytesMax = eventBytesMax
    }

    /// What is decided of an event: by its own rule, or its type's.
    package subscript(event: String) -> Rule { names.entry(ofEvent: event).flatMap { rules[$0] } ?? Self.unlisted }

    private static let unlisted = Rule(lifetimeSeconds: 86_400, collapsesByJob: false, push: .never)
}
