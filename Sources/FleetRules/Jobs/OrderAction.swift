import JSON

/// What somebody does to an order.
package struct OrderAction: Equatable, Sendable {
    /// The raw values are what audit and counters call them.
    package enum Kind: String, CaseIterable, Sendable {
        case assign, unassign, cancel
        case removeDriver = "remove_driver"
        /// Stores fields, and tells nobody.
        case update
    }

    package let code: String
    package let kind: Kind
    /// Whom to assign; for the others, whom to tell when the state names no driver.
    package var driverID: String?
    package var driverName: String?
    package var reason: String?
    package var changes = OrderChanges()

    package init(code: String, action: Kind) {
        self.code = code
        self.kind = action
    }
}

/// What somebody does to a route.
package struct RouteAction: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case assign, unassign, cancel
        case removeDrop(String)
        /// Stores fields, and tells nobody.
        case update
    }

    package let id: String
    package let kind: Kind
    package var driverID: String?
    package var driverName: String?
    package var reason: String?
    package var changes = RouteChanges()

    package init(id: String, action: Kind) {
        self.id = id
        self.kind = action
    }
}

/// How far a driver says to have come.
package struct ProgressReport: Equatable, Sendable {
    package let step: JobStatus
    package var notes: String?
    /// Degrees, -90 to 90, as sent.
    package var latitude: JSONNumber?
    /// Degrees, -180 to 180, as sent.
    package var longitude: JSONNumber?

    package init(step: JobStatus) { self.step = step }
}

/// A notification that an admin words: any type of the catalogue.
package struct Announcement: Equatable, Sendable {
    /// Whom it is for.
    package enum Audience: Equatable, Sendable {
        /// Each on a channel of his own.
        case drivers([String])
        case customer(String)
        /// All drivers, on the one channel they share.
        case everyDriver
    }

    /// As the catalogue names it: `NEW_BATCH_AVAILABLE`, `job-assigned`.
    package let type: String
    package let audience: Audience
    /// A JSON object.
    package let data: [UInt8]

    package init(type: String, audience: Audience, data: [UInt8]) {
        self.type = type
        self.audience = audience
        self.data = data
    }
}
