/// What the gateway itself wants to do for a trip, because of a position or of time. The positions are in memory only, so
/// it decides there; the store checks the step against the order and takes it once.
package struct TripStep: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The driver was at the pickup: take the step `arrived`. The time is that of the arrival. Between two fixes, the
        /// position is computed.
        case arrive(at: Position, isBetween: Bool = false)
        /// The driver has left the pickup after the arrival was taken back, at a time in milliseconds since 1970: positions
        /// can make an arrival again.
        case leave(at: Int64)
        /// Tell the customer that the driver is nearby.
        case tellNearby(etaMinutes: Int)
        /// The driver is nearby so soon after `en_route` that the customer knows: tell nothing, now or later.
        case skipNearby
        /// Tell the customer that the driver is waiting.
        case tellWaiting
        /// The driver is close to the drop-off: tell the customer.
        case tellDestinationNear(from: Position, etaMinutes: Int?)
    }

    package let orderCode: String
    package let driverID: String
    /// ``TripRecord/startedAt`` of the trip. If the order has another one, the step comes too late.
    package let startedAt: Int64
    /// ``TripRecord/correctedAt`` of the trip. If the order has another one, what made the step due was before it.
    package let correctedAt: Int64?
    package let kind: Kind

    package init(orderCode: String, driverID: String, startedAt: Int64, correctedAt: Int64? = nil, _ kind: Kind) {
        self.orderCode = orderCode
        self.driverID = driverID
        self.startedAt = startedAt
        self.correctedAt = correctedAt
        self.kind = kind
    }

    /// Whether the step is about the driver being nearby.
    package var isNearby: Bool {
        switch kind {
        case .tellNearby, .skipNearby: true
        case .arrive, .leave, .tellWaiting, .tellDestinationNear: false
        }
    }

    /// Whether two steps are of the same kind, whatever made them due.
    package func isSameKind(as other: TripStep) -> Bool {
        switch (kind, other.kind) {
        case (.arrive, .arrive), (.leave, .leave), (.tellWaiting, .tellWaiting),
            (.tellDestinationNear, .tellDestinationNear):
            true
        default: isNearby && other.isNearby
        }
    }
}
