import Primitives

/// Whether a driver wants to hear of new batches. Only drivers who have used the switch have one; all others count as
/// online, so that apps without a switch keep working.
package struct Availability: Equatable, Sendable {
    package let accountID: ObjectID
    /// The driver as in channels.
    package let personID: String
    package var isOnline: Bool
    /// Since when, in milliseconds since 1970.
    package var since: Int64

    package init(accountID: ObjectID, personID: String, isOnline: Bool, since: Int64) {
        self.accountID = accountID
        self.personID = personID
        self.isOnline = isOnline
        self.since = since
    }

    /// An online driver goes offline after so many milliseconds without any request or connection.
    package static let idleMax: Int64 = 12 * 3_600_000
}

/// What a driver's app is told about the switch.
package struct AvailabilityState: Equatable, Sendable {
    package let isOnline: Bool
    /// Milliseconds since 1970. Nil: the driver has never used the switch.
    package let since: Int64?

    /// - Parameter stored: nil if the driver has never used the switch.
    package init(_ stored: Availability?) {
        isOnline = stored?.isOnline ?? true
        since = stored?.since
    }
}
