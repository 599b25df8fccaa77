/// The people to whom an event can be pushed. `check-config` prints them; a test compares them with the events that
/// transitions publish.
package struct EventRecipients: Equatable, Sendable {
    /// The person on whose own channel the event is published.
    package enum Person: Sendable {
        case driver
        /// The customer of the booking.
        case customer
        /// The recipients that the announcement names: drivers, a customer, or all drivers.
        case named
    }

    /// Nil if the event is published on no person's channel.
    package let person: Person?
    /// Whether the event is published on `drivers-channel`.
    package let areAllDrivers: Bool

    /// - Parameter name: an event's name or a notification's type. All names other than those of the fleet's events are
    ///   announcements.
    package init(of name: String) {
        switch name {
        case "job-assigned", "job-removed", "job-removed-from-list", "order-removed", "schedule-updated",
            "route-assigned", "route-unassigned", "route-cancelled", "drop-removed", "driver-approved", "driver-rejected",
            "batch-assigned", "batch-reassigned", "batch-cancelled", "order-cancelled", "job-corrected":
            (person, areAllDrivers) = (.driver, false)
        case "job-cancelled": (person, areAllDrivers) = (.driver, true)
        case "job-available-again", "new-batch-available", "batch-taken": (person, areAllDrivers) = (nil, true)
        case "driver-removed", "tracking-started", "tracking-stopped", "job-accepted", "job-progress":
            (person, areAllDrivers) = (.customer, false)
        case "order-assigned", "order-unassigned", "route-accepted", "driver-registered", "driver-suspended",
            "driver-availability", "batch-accepted", "batch-picked-up", "batch-progress", "batch-completed":
            (person, areAllDrivers) = (nil, false)
        case _ where TripMoment(event: name) != nil: (person, areAllDrivers) = (.customer, false)
        default: (person, areAllDrivers) = (.named, true)
        }
    }
}
