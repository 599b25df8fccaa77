import Access
import Primitives

/// A trip at one moment, for those who follow it.
package struct TripView: Equatable, Sendable {
    package let order: Order
    /// Nil before the trip has started.
    package let status: TripStatus?
    /// The driver's card; nil if there is none, or the order has no driver.
    package let card: DriverCard?
    /// See ``Order/tripDriverName(_:account:)``.
    package let driverName: String?
    /// The driver's newest position. Nil: not known, or the job is not followed.
    package let position: Position?
    /// Nil: not known.
    package let etaMinutes: Int?
    /// Milliseconds since 1970.
    package let now: Int64

    /// - Parameters:
    ///   - track: the driver's positions; empty if they are not known.
    package init(
        _ order: Order, card: DriverCard?, track: Track = Track(), now: Int64, _ rules: TripRules
    ) {
        self.order = order
        self.card = card
        self.now = now
        status = order.tripStatus(now: now, rules)
        driverName = order.tripDriverName(card, account: order.trip.driverName)
        position = order.isFollowed ? track.newest : nil
        etaMinutes = order.etaMinutes(track, now: now, rules)
    }

    /// Whether the person may see the trip: an admin, the job's driver, or a customer of the booking, whom the token or
    /// the order names.
    package func isVisible(to identity: Identity) -> Bool {
        switch identity.role {
        case .admin: true
        case .ops: false
        case .driver: order.assignment.driver?.id == Identifier(identity.id)
        case .customer:
            order.customerID.map { Identifier($0) == Identifier(identity.id) } == true
                || identity.bookings.contains { Identifier($0) == Identifier(order.reference) }
        }
    }

    /// The view, if the person may see it and the trip has started.
    /// - Returns: else the error, which does not tell a stranger that the trip exists.
    package func answer(to identity: Identity) -> Result<TripView, RuleError> {
        guard isVisible(to: identity) else { return .failure(RuleError(.unknownTrip)) }
        return status == nil ? .failure(RuleError(.tripNotStarted)) : .success(self)
    }

    /// When the driver will be, or was, at the next place, in milliseconds since 1970: the time of arrival or completion,
    /// or the present time and the ETA. Nil: not known, or the trip was cancelled.
    package var estimatedArrival: Int64? {
        switch status {
        case .arrived, .waitingForPickup: order.trip.arrivedAt
        case .complete: order.trip.completedAt
        case .enRoute, .pickupComplete, .droppingOff: etaMinutes.map { now + Int64($0) * 60_000 }
        case .canceled, nil: nil
        }
    }
}

extension RuleError.Code {
    /// For unknown trips and for those of others.
    package static let unknownTrip = Self("unknownTrip", .unknown, "Trip not found")
    package static let tripNotStarted = Self("tripNotStarted", .unknown, "Trip has not started")
}
