import PusherAPI
import PusherProtocol

/// The maximum size of a request's body, by endpoint.
enum BodyLimit {
    /// One JSON object with some members.
    case object
    /// 256 KiB: the largest documented lists, which are 1,000 names of 150 characters, or 100 events of telemetry.
    case list
    /// A list, and the data of an event as JSON.
    case listAndEventData
    /// 1 MiB: a batch of 200 orders of 5 KiB.
    case batchOfOrders

    /// The limit in bytes.
    /// - Parameter limits: the application's.
    func bytes(_ limits: Limits) -> Int {
        switch self {
        case .object: limits.objectBytes
        case .list: 262_144
        case .batchOfOrders: 1_048_576
        case .listAndEventData: 262_144 + limits.dataBytes
        }
    }
}

extension AddressLimit {
    /// Requests that cause an SMS.
    package static let codes = AddressLimit("codes")
    /// Codes that were typed.
    package static let tries = AddressLimit("tries")
}
