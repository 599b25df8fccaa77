/// Judges whether a driver who is on the way has come to the pickup, fix by fix, the oldest first.
///
/// A driver arrives who is slow within the circle around the pickup, for as long as is configured; or who was slow on the
/// line between two fixes, of which none lies in the circle.
struct ArrivalWatch {
    /// What a fix shows.
    enum Finding: Equatable {
        /// The position of the arrival, whose time is that of the arrival.
        case arrived(at: Position, isBetween: Bool)
        /// The driver has left the pickup after the arrival was taken back.
        case left(at: Int64)
    }

    /// The first fix of a stay at the pickup.
    private var stay: Position?
    /// The last fix after `en_route`.
    private var before: Position?
    /// The correction (``TripRecord/correctedAt``) after which the driver has left, and when; the store may not know it yet.
    private var leaving: (correctedAt: Int64, at: Int64)?

    /// The pickup is elsewhere now.
    mutating func forgetStay() { stay = nil }

    mutating func forgetPositions() { (stay, before) = (nil, nil) }

    /// Takes the next fix.
    /// - Parameters:
    ///   - speed: of the fix, in metres per second; nil if it is not known.
    ///   - order: whose driver is on the way.
    mutating func take(_ fix: Position, speed: Double?, of order: Order, _ rules: TripRules) -> Finding? {
        guard order.assignment.status == .enRoute, let pickup = order.pickupCoordinates, let startedAt = order.trip.startedAt,
            fix.recordedAt >= startedAt
        else { return nil }
        let metres = fix.metres(to: pickup)
        if let correctedAt = order.trip.correctedAt {
            guard let leftAt = leftAt(of: order.trip) else {
                (stay, before) = (nil, fix)
                guard fix.recordedAt > correctedAt, metres > rules.exitMetres else { return nil }
                leaving = (correctedAt, fix.recordedAt)
                return .left(at: fix.recordedAt)
            }
            // After a restart the stored position may be older than the leaving, which was stored at once. One of the same
            // millisecond may have come right after.
            guard fix.recordedAt >= leftAt else { return nil }
        }
        let previous = before
        before = fix
        if let finding = stay(at: fix, metres, isSlow: rules.isSlow(speed), rules) { return finding }
        guard let previous, metres > rules.arrivalMetres, previous.metres(to: pickup) > rules.arrivalMetres else { return nil }
        return passage(from: previous, to: fix, past: pickup, rules)
    }

    /// When the driver left the pickup after the last correction; nil before that.
    private func leftAt(of trip: TripRecord) -> Int64? {
        trip.leftAt ?? leaving.flatMap { $0.correctedAt == trip.correctedAt ? $0.at : nil }
    }

    private mutating func stay(at fix: Position, _ metres: Double, isSlow: Bool, _ rules: TripRules) -> Finding? {
        guard isSlow, metres <= rules.exitMetres else {
            stay = nil
            return nil
        }
        if stay == nil, metres <= rules.arrivalMetres { stay = fix }
        guard let stay, fix.recordedAt - stay.recordedAt >= rules.arrivalDwell else { return nil }
        return .arrived(at: stay, isBetween: false)
    }

    /// What lies between two fixes outside the circle.
    private func passage(from start: Position, to end: Position, past pickup: Coordinates, _ rules: TripRules) -> Finding? {
        guard let speed = end.speed(since: start, rules), rules.isSlow(speed),
            let passage = Passage(from: start, to: end, past: pickup, within: rules.arrivalMetres)
        else { return nil }
        let time = Double(end.recordedAt - start.recordedAt)
        guard passage.partWithin * time >= Double(rules.arrivalDwell) else { return nil }
        let point = Position(
            latitude: passage.latitude, longitude: passage.longitude,
            recordedAt: start.recordedAt + Int64((passage.part * time).rounded()))
        return .arrived(at: point, isBetween: true)
    }
}
