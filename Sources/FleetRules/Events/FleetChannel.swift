/// The channel of an event. ``name`` is the public channel (`driver-42`); the hub also publishes the event to the
/// private channel that mirrors it (`private-driver-42`).
enum FleetChannel {
    /// One driver, by id.
    case driver(String)
    /// All drivers.
    case drivers
    /// The dispatchers.
    case admin
    case tracking(String)
    case booking(String)
    case customer(String)

    var name: String {
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
