/// The configured figures of trips (`trips:`).
package struct TripRules: Equatable, Sendable {
    /// A driver within this distance of the pickup has arrived, in metres.
    package var arrivalMetres = 100.0
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
    /// ``positionHours`` in milliseconds.
    package var positionLifetime: Int64 { Int64(positionHours) * 3_600_000 }
}
