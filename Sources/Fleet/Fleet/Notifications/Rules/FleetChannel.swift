/// The channel of an event. ``name`` is the public channel (`driver-42`); the gateway also publishes the event to the
/// private channel that mirrors it (`private-driver-42`).
package enum FleetChannel {
    /// One driver, by id.
    case driver(String)
    /// All drivers.
    case drivers
    /// The dispatchers.
    case admin
    /// Those who follow a booking's driver on the map, by the booking's reference.
    case tracking(String)
    /// Those who follow a booking's progress, by the booking's reference.
    case booking(String)
    /// One customer, by id.
    case customer(String)

    /// Whether the channel is a person's own: its notifications can be confirmed by that person's devices.
    package var isOfOnePerson: Bool {
        switch self {
        case .driver, .customer: true
        case .drivers, .admin, .tracking, .booking: false
        }
    }

    package var name: String {
        switch self {
        case .driver(let id): "driver-\(id)"
        case .drivers: "drivers-channel"
        case .admin: "admin-channel"
        case .tracking(let reference): "tracking-\(reference)"
        case .booking(let reference): "booking-\(reference)"
        case .customer(let id): "customer-\(id)"
        }
    }
}
