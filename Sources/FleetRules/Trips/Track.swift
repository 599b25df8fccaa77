/// A driver's newest position, and the way along the last positions.
package struct Track: Equatable, Sendable {
    /// Nil if none is known.
    package private(set) var newest: Position?
    /// The last positions, oldest first.
    private var points: [Point] = []

    /// A position on the way. The distance from the track's beginning, instead of the place, makes the length of any part
    /// of the way one subtraction, and stays exact if points between are left out.
    private struct Point: Equatable {
        let at: Int64
        let metres: Double
    }

    /// The speed is that of so many milliseconds.
    private static let window: Int64 = 60_000
    /// With more points, every second one is left out: a phone may send hundreds of positions a second.
    private static let pointsMax = 120
    /// The limits of the speed in km/h. A driver in a traffic jam will move again, and GPS jumps are no speed.
    private static let speeds = 10.0...90.0

    package init() {}

    /// Adds a position.
    /// - Precondition: it is not older than ``newest``.
    package mutating func add(_ position: Position) {
        let metres = newest.map { $0.metres(to: position) } ?? 0
        points.removeAll { $0.at < position.recordedAt - Self.window }
        points.append(Point(at: position.recordedAt, metres: (points.last?.metres ?? 0) + metres))
        if points.count > Self.pointsMax {
            let last = points.count - 1
            points = points.enumerated().filter { (last - $0.offset) % 2 == 0 }.map(\.element)
        }
        newest = position
    }

    /// The minutes to a place, rounded up. Nil if the place is nil, or no position is new enough.
    /// - Parameter now: milliseconds since 1970.
    package func etaMinutes(to place: Coordinates?, now: Int64, _ rules: TripRules) -> Int? {
        guard let place, let newest, now - newest.recordedAt <= Int64(rules.staleSeconds) * 1_000 else { return nil }
        let minutes = (newest.metres(to: place) * rules.detourFactor / metresPerSecond(now, rules) / 60).rounded(.up)
        // Half the earth at the lowest speed is 120,000 minutes; only the configured factor can make it absurd.
        return minutes < Double(Int32.max) ? Int(minutes) : nil
    }

    private func metresPerSecond(_ now: Int64, _ rules: TripRules) -> Double {
        let fresh = points.drop { $0.at < now - Self.window }
        guard let first = fresh.first, let last = fresh.last, last.at > first.at else { return rules.defaultSpeedKmh / 3.6 }
        let kmh = (last.metres - first.metres) / Double(last.at - first.at) * 3_600
        return min(max(kmh, Self.speeds.lowerBound), Self.speeds.upperBound) / 3.6
    }
}
