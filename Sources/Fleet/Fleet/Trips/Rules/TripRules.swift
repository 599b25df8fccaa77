/// The configured figures of trips (`trips:`).
package struct TripRules: Equatable, Sendable {
    /// A driver within this distance of the pickup has arrived, in metres.
    package var arrivalMetres = 100.0
    /// A faster driver has not arrived, in km/h. 0: at any speed.
    package var arrivalKmh = 50.0
    /// A driver has arrived who stays for so many seconds.
    package var arrivalDwellSeconds = 0
    /// Two fixes at most so many seconds apart belong together: the driver was on the line between them. 0: each fix
    /// counts by itself.
    package var arrivalGapSeconds = 120
    /// A driver beyond this distance of the pickup has left it, in metres. 0: ``exitMetres`` says how far.
    package var arrivalExitMetres = 0.0
    /// So many minutes after an arrival its driver may take it back. 0: only admins may.
    package var undoMinutes = 10
    /// A position that the driver could reach only at a higher speed is held back, in km/h. 0: none is.
    package var jumpKmh = 0.0
    /// The customer is told that the driver is nearby when the ETA is at most so many minutes.
    package var nearbyMinutes = 5
    /// So long after the arrival, in seconds, the customer is told that the driver is waiting.
    package var waitingSeconds = 120
    /// A driver within this distance of the drop-off is close to the destination, in metres.
    package var approachingMetres = 500.0
    /// Whether positions make the gateway take the step `arrived`.
    package var automaticArrival = true
    /// Positions that are less accurate make no arrival, in metres.
    package var accuracyMetres = 100.0
    /// After so many seconds without a new position the ETA is not known.
    package var staleSeconds = 60
    /// No position is kept for longer, in hours.
    package var positionHours = 24
    /// The speed for an ETA while too few positions are known, in km/h, more than 0.
    package var defaultSpeedKmh = 30.0
    /// The length of a way by road divided by that of the great circle, more than 0.
    package var detourFactor = 1.3

    package init() {}

    /// ``waitingSeconds`` in milliseconds.
    var waitingTime: Int64 { Int64(waitingSeconds) * 1_000 }
    /// ``arrivalDwellSeconds`` in milliseconds.
    package var arrivalDwell: Int64 { Int64(arrivalDwellSeconds) * 1_000 }
    /// ``arrivalGapSeconds`` in milliseconds.
    package var arrivalGap: Int64 { Int64(arrivalGapSeconds) * 1_000 }
    /// ``undoMinutes`` in milliseconds.
    var undoTime: Int64 { Int64(undoMinutes) * 60_000 }
    /// A driver beyond this distance of the pickup has left it, in metres.
    package var exitMetres: Double { arrivalExitMetres > 0 ? arrivalExitMetres : 1.5 * arrivalMetres }

    /// Whether a driver with this speed in metres per second may have arrived. An unknown speed is none.
    package func isSlow(_ speed: Double?) -> Bool { arrivalKmh == 0 || speed.map { $0 * 3.6 <= arrivalKmh } ?? true }

    /// ``positionHours`` in milliseconds.
    package var positionLifetime: Int64 { Int64(positionHours) * 3_600_000 }
}

extension Order {
    /// The distance in metres from a position to the pickup, if the position shows that the driver has arrived; else nil.
    /// A position of the same millisecond as the report of `en_route` counts as later: it may have come right after.
    package func metresOfArrival(at position: Position, _ rules: TripRules) -> Double? {
        guard rules.automaticArrival, assignment.status == .enRoute, let pickupCoordinates, let startedAt = trip.startedAt,
            position.recordedAt >= startedAt, position.isFix(rules),
            trip.correctedAt.map({ position.recordedAt > $0 }) ?? true, trip.leftAt.map({ position.recordedAt >= $0 }) ?? true
        else { return nil }
        let metres = position.metres(to: pickupCoordinates)
        return metres <= rules.arrivalMetres + Self.roundingMetres ? metres : nil
    }

    /// A position that was computed may be so far outside the circle.
    private static let roundingMetres = 0.001

    /// Whether a position shows that the driver, who is in transit, is close to the drop-off.
    package func isNearDestination(at position: Position, _ rules: TripRules) -> Bool {
        guard assignment.status == .inTransit, let dropoffCoordinates, let departedAt = trip.departedAt else { return false }
        return position.recordedAt >= departedAt && position.metres(to: dropoffCoordinates) <= rules.approachingMetres
    }
}
