extension NotificationCatalogue {
    /// The catalogue that the gateway uses if `notifications.file` is not configured. `config/notifications.yaml`
    /// contains the same entries; a test compares them.
    package static let builtIn = NotificationCatalogue(
        jobEvents + routeEvents + batchEvents + customerEvents + moments + types)

    /// Events about orders, for drivers.
    private static let jobEvents = [
        entry("job-assigned", "New job", "{pickupAddress|Pickup} to {dropoffAddress|destination}") {
            $0.thread = "jobs"
            $0.collapse = .order
        },
        entry("job-removed", "Job removed", "{bookingReference|A job}: {reason|it is no longer yours}") {
            $0.thread = "jobs"
            $0.collapse = .order
            $0.urgent = true
        },
        entry("order-removed", "Order removed", "{orderRef|An order}: {reason|it is no longer on your schedule}") {
            $0.thread = "jobs"
            $0.collapse = .order
            $0.urgent = true
        },
        entry("job-cancelled", "Job cancelled", "{bookingReference|A job}: {reason|the booking was cancelled}") {
            $0.thread = "jobs"
            $0.collapse = .order
            $0.urgent = true
        },
        entry("job-corrected", "Arrival taken back", "{bookingReference|A job}: {message|Dispatch has taken back your arrival}") {
            $0.thread = "jobs"
            $0.collapse = .order
            $0.urgent = true
        },
        entry("job-removed-from-list", "Job removed", "{bookingReference|A job} is no longer among your active jobs") {
            $0.thread = "jobs"
            $0.push = .off
        },
        entry("job-available-again", "Job available", "{bookingReference|A job} is available again") {
            $0.thread = "jobs"
            $0.push = .off
        },
        entry("schedule-updated", "Schedule updated", "Your schedule has changed") {
            $0.thread = "jobs"
            $0.push = .off
        },
    ]

    /// Events about routes, for drivers.
    private static let routeEvents = [
        entry("route-assigned", "New route", "{routeNumber|A route} has been assigned to you") {
            $0.thread = "routes"
            $0.collapse = .order
        },
        entry("route-unassigned", "Route removed", "{routeNumber|A route} is no longer assigned to you") {
            $0.thread = "routes"
            $0.collapse = .order
            $0.urgent = true
        },
        entry("route-cancelled", "Route cancelled", "{routeNumber|Your route}: {reason|it will not take place}") {
            $0.thread = "routes"
            $0.collapse = .order
            $0.urgent = true
        },
        entry("drop-removed", "Drop removed", "{routeNumber|Your route}: {reason|it has one drop less}") {
            $0.thread = "routes"
            $0.urgent = true
        },
    ]

    /// Events about batches, for drivers, besides those of ``types``.
    private static let batchEvents = [
        entry("batch-assigned", "New batch", "{batchNumber|A batch} has been assigned to you") { $0.thread = "jobs" },
        entry("batch-cancelled", "Batch cancelled", "{batchNumber|Your batch}: {reason|it will not take place}") {
            $0.thread = "jobs"
            $0.urgent = true
        },
    ]

    /// Events for customers.
    private static let customerEvents = [
        entry("driver-arrival", "Your driver has arrived!", "{driverName|Your driver} is waiting for you") {
            $0.category = "DRIVER_ARRIVAL"
            $0.collapse = .order
            $0.urgent = true
        },
        entry("driver-removed", "Your driver has changed", "Open the app for the latest on your booking") {
            $0.collapse = .order
        },
        entry("tracking-stopped", "Tracking stopped", "{message|Your driver can no longer be followed on the map}") {
            $0.push = .off
        },
    ]

    /// The moments of a trip, besides the arrival, for the customer.
    private static let moments = [
        entry(TripMoment.driverAssigned.event, "Your driver is confirmed", "{driverName|Your driver} will pick you up") {
            $0.collapse = .order
        },
        entry(
            TripMoment.enRoute.event, "Your driver is on the way",
            ["{driverName|Your driver} arrives in about {eta_minutes} minutes", "{driverName|Your driver} is on the way to you"]
        ) {
            $0.collapse = .order
        },
        entry(
            TripMoment.nearby.event, "Your driver is nearby",
            ["{driverName|Your driver} is {eta_minutes} minutes away", "{driverName|Your driver} is nearby"]
        ) {
            $0.collapse = .order
        },
        entry(
            TripMoment.arrivalCorrected.event, "Your driver is still on the way",
            [
                "{driverName|Your driver} arrives in about {eta_minutes} minutes",
                "{driverName|Your driver} has not arrived yet",
            ]
        ) {
            $0.collapse = .order
            $0.urgent = true
        },
        entry(
            TripMoment.waiting.event, "Your driver is waiting",
            "{driverName|Your driver} has been waiting for {waiting_minutes|a few} minutes"
        ) {
            $0.collapse = .order
            $0.urgent = true
        },
        entry(
            TripMoment.started.event, "Your trip has started",
            ["About {eta_minutes} minutes to your destination", "You are on your way"]
        ) {
            $0.collapse = .order
        },
        entry(TripMoment.destinationNear.event, "Almost there", "You are close to your destination") {
            $0.collapse = .order
        },
        entry(TripMoment.completed.event, "Trip completed", "Thank you for travelling with us") { $0.collapse = .order },
    ]

    /// Types of notifications that admins send (`POST /api/admin/notifications`).
    private static let types = [
        entry(
            "NEW_BATCH_AVAILABLE", "New Batch Available!",
            ["{message}", "{batchNumber} in {zone} ({orderCount} orders)", "A batch of orders is waiting for a driver"]
        ) {
            $0.thread = "jobs"
        },
        entry("BATCH_REASSIGNED", "Batch Reassigned", ["{message}", "Your batch has been reassigned by admin"]) {
            $0.thread = "jobs"
            $0.urgent = true
        },
        entry(
            "ORDER_CANCELLED", "Order Cancelled",
            [
                "{message}", "Order #{orderNumber} has been cancelled by {cancelledBy|customer}",
                "An order has been cancelled",
            ]
        ) {
            $0.thread = "jobs"
            $0.collapse = .order
            $0.urgent = true
        },
        entry(
            "DRIVER_APPROVED", "Registration Approved!",
            ["{message}", "Your driver registration has been approved. Start delivering now!"]
        ) {
            $0.data = [.init("action", "navigate_home")]
        },
        entry(
            "DRIVER_REJECTED", "Registration Update",
            ["{message}", "Your registration needs attention. Tap to see details."]
        ) {
            $0.data = [.init("action", "navigate_rejection")]
        },
        entry("driver_arrival", "Your driver has arrived!", "{driverName|Your driver} is waiting for you") {
            $0.category = "DRIVER_ARRIVAL"
            $0.collapse = .order
            $0.urgent = true
        },
    ]

    /// An entry with default options, except those that `change` sets.
    private static func entry(
        _ name: String, _ title: Template, _ body: Template, _ change: (inout Entry) -> Void = { _ in }
    ) -> Entry {
        var entry = Entry(name)
        entry.title = title
        entry.body = body
        change(&entry)
        return entry
    }
}
