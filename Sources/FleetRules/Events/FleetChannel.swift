/// The channel of an event. Its name is the public one; the hub publishes to the mirroring private channel as well.
enum FleetChannel {
    case driver(String)
    case drivers
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
