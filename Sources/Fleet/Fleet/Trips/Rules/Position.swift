import Glibc
import JSON

/// Where a driver was at one moment, as the driver's phone measured it.
package struct Position: Equatable, Sendable {
    /// Degrees, -90 to 90.
    package let latitude: Double
    /// Degrees, -180 to 180.
    package let longitude: Double
    /// The direction of travel in degrees clockwise from north, 0 up to but not including 360. Nil: not known.
    package var heading: Double?
    /// The radius in metres within which the phone is, 0 to 10,000, or ``badAccuracy``. Nil: not known. Negative: the
    /// phone says that the position is none (Apple, `CLLocation.horizontalAccuracy`).
    package var accuracy: Double?
    /// Metres per second, 0 to 150. Nil: not known.
    package var speed: Double?
    /// When the phone was there, in milliseconds since 1970.
    package var recordedAt: Int64

    package init(
        latitude: Double, longitude: Double, heading: Double? = nil, accuracy: Double? = nil, speed: Double? = nil,
        recordedAt: Int64
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.heading = heading
        self.accuracy = accuracy
        self.speed = speed
        self.recordedAt = recordedAt
    }

    /// The accuracy of a position whose phone reports more than 10,000 metres.
    package static let badAccuracy = 10_001.0

    /// Whether the position says where the driver is: arrivals and moments need one that does.
    package func isFix(_ rules: TripRules) -> Bool { accuracy.map { (0...rules.accuracyMetres).contains($0) } ?? true }

    /// Whether the phone has no position: it says so, or it reports exactly 0,0, which is what an app sends that has none.
    package var isNone: Bool { isDeclaredInvalid || (latitude == 0 && longitude == 0) }

    /// Whether the phone says that the position is none.
    package var isDeclaredInvalid: Bool { accuracy.map { $0 < 0 } ?? false }

    /// The length of the great circle to a place, in metres.
    package func metres(to place: Coordinates) -> Double {
        guard let latitude = Double(place.latitude.text), let longitude = Double(place.longitude.text) else { return .infinity }
        return Self.metres((self.latitude, self.longitude), (latitude, longitude))
    }

    /// The length of the great circle to another position, in metres.
    package func metres(to other: Position) -> Double {
        Self.metres((latitude, longitude), (other.latitude, other.longitude))
    }

    /// The mean radius of the earth in metres (IUGG, R1).
    private static let earthRadius = 6_371_008.8

    /// Vincenty's formula for a sphere. Unlike the haversine formula and the law of cosines, it is exact both for points a
    /// metre apart and for those on opposite sides of the earth.
    static func metres(_ one: (Double, Double), _ other: (Double, Double)) -> Double {
        let radians = Double.pi / 180
        let (sine1, cosine1) = (sin(one.0 * radians), cos(one.0 * radians))
        let (sine2, cosine2) = (sin(other.0 * radians), cos(other.0 * radians))
        let east = (other.1 - one.1) * radians
        let across = cosine2 * sin(east)
        let along = cosine1 * sine2 - sine1 * cosine2 * cos(east)
        let cosine = sine1 * sine2 + cosine1 * cosine2 * cos(east)
        return earthRadius * atan2((across * across + along * along).squareRoot(), cosine)
    }
}

extension Position {
    /// Above this speed, in km/h, two positions do not belong to one way: one of them is wrong.
    private static let kmhMax = 300.0

    /// The speed in metres per second from the fix before to this one. Nil if too little or too much time lies between
    /// them, or the speed is impossible.
    package func speed(since before: Position?, _ rules: TripRules) -> Double? {
        guard let before else { return nil }
        let time = recordedAt - before.recordedAt
        guard time >= 1_000, time <= rules.arrivalGap else { return nil }
        let speed = metres(to: before) / Double(time) * 1_000
        return speed * 3.6 <= Self.kmhMax ? speed : nil
    }
}

/// The newest position of a driver.
package struct DriverPosition: Equatable, Sendable {
    package let driverID: String
    package let position: Position

    package init(driverID: String, position: Position) {
        self.driverID = driverID
        self.position = position
    }
}
