import JSON

/// A place on the earth, as a request wrote it. One value, so that an order cannot have half a place.
package struct Coordinates: Equatable, Sendable {
    /// Degrees, -90 to 90.
    package let latitude: JSONNumber
    /// Degrees, -180 to 180.
    package let longitude: JSONNumber

    package init(latitude: JSONNumber, longitude: JSONNumber) {
        self.latitude = latitude
        self.longitude = longitude
    }
}
