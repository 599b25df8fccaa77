/// When the trip of an order's present driver reached its steps, which moments its customer has been told, and how the
/// driver's token names the driver. All times are milliseconds since 1970; nil: not yet.
package struct TripRecord: Equatable, Sendable {
    /// When the driver reported `en_route`. Identifies the trip: a reassignment starts a new one.
    package var startedAt: Int64?
    package var arrivedAt: Int64?
    /// Whether a position made the gateway take the step `arrived`. False: the driver reported it.
    package var isArrivedByPosition = false
    /// When the arrival was last taken back. Until ``leftAt`` positions make no arrival.
    package var correctedAt: Int64?
    /// When the driver had left the pickup after that, by a position.
    package var leftAt: Int64?
    /// When the driver reported `in_transit`.
    package var departedAt: Int64?
    package var completedAt: Int64?
    /// When the customer was told that the driver is nearby, or the moment counted as told.
    package var nearbyToldAt: Int64?
    /// When the customer was told that the driver is waiting.
    package var waitingToldAt: Int64?
    /// When the customer was told that the destination is near.
    package var destinationNearToldAt: Int64?
    /// The driver's name in the token of the latest report of a step. Nil: no token had one.
    package var driverName: String?

    package init() {}
}

/// The status of a trip as customers' apps know it.
package enum TripStatus: String, Sendable {
    case enRoute = "en_route"
    case arrived
    case waitingForPickup = "waiting_for_pickup"
    case pickupComplete = "pickup_complete"
    case droppingOff = "dropping_off"
    case complete
    case canceled
}

extension Order {
    /// Whether the driver's positions are kept and shown: from `en_route` until the job ends or loses its driver.
    package var isFollowed: Bool { assignment.driver != nil && assignment.status.isUnderWay }

    /// The trip's status for customers. Nil: the trip has not started.
    /// - Parameter now: milliseconds since 1970.
    package func tripStatus(now: Int64, _ rules: TripRules) -> TripStatus? {
        switch assignment.status {
        case .available, .assigned, .accepted: nil
        case .enRoute: .enRoute
        case .arrived: isWaiting(now: now, rules) ? .waitingForPickup : .arrived
        case .loading: .pickupComplete
        case .inTransit, .unloading: .droppingOff
        case .completed: .complete
        case .cancelled: .canceled
        }
    }

    /// Whether the driver has waited at the pickup for ``TripRules/waitingSeconds``.
    package func isWaiting(now: Int64, _ rules: TripRules) -> Bool {
        guard assignment.status == .arrived, let arrivedAt = trip.arrivedAt else { return false }
        return now - arrivedAt >= rules.waitingTime
    }

    /// The minutes to the pickup or, after it, to the drop-off. Nil: not known.
    /// - Parameter now: milliseconds since 1970.
    package func etaMinutes(_ track: Track, now: Int64, _ rules: TripRules) -> Int? {
        switch assignment.status {
        case .arrived: 0
        case .enRoute: track.etaMinutes(to: pickupCoordinates, now: now, rules)
        case .loading, .inTransit, .unloading: track.etaMinutes(to: dropoffCoordinates, now: now, rules)
        case .available, .assigned, .accepted, .completed, .cancelled: nil
        }
    }
}
