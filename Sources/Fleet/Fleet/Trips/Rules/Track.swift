/// A driver's newest position, and the way along the last fixes. Positions that are less accurate than
/// ``TripRules/accuracyMetres``, and parts of the way that no car could drive, do not count: a wild position adds no way.
package struct Track: Equatable, Sendable {
    /// Nil if none is known.
    package private(set) var newest: Position?
    /// Whether the newest position is where the way led: only such a position causes a moment.
    package private(set) var isNewestOnWay = false
    /// The last fixes, oldest first.
    private(set) var points: [Point] = []

    /// A fix on the way. The distance and the time from the track's beginning make the length of any part of the way one
    /// subtraction, and stay exact if points between are left out.
    struct Point: Equatable {
        let at: Int64
        let latitude: Double
        let longitude: Double
        let metres: Double
        /// Milliseconds of the parts of the way that count.
        let time: Int64
    }

    /// The speed is that of so many milliseconds.
    static let window: Int64 = 60_000
    /// With more points, every second one is left out: a phone may send hundreds of positions a second.
    private static let pointsMax = 120
    /// The limits of the speed in km/h. A driver in a traffic jam will move again, and GPS jumps are no speed.
    static let speeds = 10.0...90.0
    /// A faster part of the way does not count, in km/h. Two fixes within a second count as a second apart: phones are not
    /// that exact.
    private static let kmhMax = 250.0

    package init() {}

    /// The last position that was accurate enough. Nil if none is known.
    package var lastFix: Position? {
        points.last.map { Position(latitude: $0.latitude, longitude: $0.longitude, recordedAt: $0.at) }
    }

    /// Adds a position.
    /// - Precondition: it is not older than ``newest``.
    package mutating func add(_ position: Position, _ rules: TripRules) {
        newest = position
        guard position.isFix(rules) else {
            isNewestOnWay = false
            return
        }
        // A fix replaces the one before with the same time if it fits the way up to there: the speed between the two is not
        // known. The first fix is not replaced, because nothing says that the driver was near.
        if points.last?.at == position.recordedAt, let before = points.dropLast().last, isOnWay(from: before, to: position) {
            points.removeLast()
        }
        var way = (metres: 0.0, time: Int64(0))
        isNewestOnWay = isOnWay(from: points.last, to: position)
        if let last = points.last {
            let (metres, time) = (Self.metres(from: last, to: position), position.recordedAt - last.at)
            way = isNewestOnWay ? (last.metres + metres, last.time + time) : (last.metres, last.time)
        }
        points.removeAll { $0.at < position.recordedAt - Self.window }
        points.append(
            Point(
                at: position.recordedAt, latitude: position.latitude, longitude: position.longitude, metres: way.metres,
                time: way.time))
        if points.count > Self.pointsMax {
            let last = points.count - 1
            points = points.enumerated().filter { (last - $0.offset) % 2 == 0 }.map(\.element)
        }
    }

    /// Whether a car can have come from a fix to a position; true without a fix.
    private func isOnWay(from last: Point?, to position: Position) -> Bool {
        guard let last else { return true }
        let time = max(position.recordedAt - last.at, 1_000)
        return Self.metres(from: last, to: position) / Double(time) * 3_600 <= Self.kmhMax
    }

    private static func metres(from last: Point, to position: Position) -> Double {
        Position.metres((last.latitude, last.longitude), (position.latitude, position.longitude))
    }
}
