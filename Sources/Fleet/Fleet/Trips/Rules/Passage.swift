import Glibc

/// The straight way between two fixes past a place: where it comes nearest, and which part of it lies within a distance.
///
/// The earth is a sphere here. The way is mapped to the plane that touches the sphere at the place (gnomonic projection):
/// there great circles are straight lines, and what is nearest to the place stays nearest, on every meridian and at the
/// poles.
struct Passage: Equatable {
    /// Degrees.
    let latitude: Double
    let longitude: Double
    /// The part of the way before the nearest point, 0 to 1.
    let part: Double
    /// The part of the way within the distance, 0 to 1.
    let partWithin: Double

    /// Nil if the way does not come within the distance, or is half around the earth.
    init?(from start: Position, to end: Position, past place: Coordinates, within metres: Double) {
        guard let plane = TangentPlane(at: place), let first = plane.point(of: start), let last = plane.point(of: end) else {
            return nil
        }
        let step = (x: last.x - first.x, y: last.y - first.y)
        let square = step.x * step.x + step.y * step.y
        let radius = tan(metres / TangentPlane.earthRadius)
        guard square > 0 else { return nil }
        let foot = -(first.x * step.x + first.y * step.y) / square
        func point(_ part: Double) -> TangentPlane.Point { .init(x: first.x + part * step.x, y: first.y + part * step.y) }
        let nearest = point(min(max(foot, 0), 1))
        guard nearest.x * nearest.x + nearest.y * nearest.y <= radius * radius else { return nil }
        let across = point(foot)
        let half = (max(0, radius * radius - across.x * across.x - across.y * across.y) / square).squareRoot()
        let (entry, exit) = (point(min(max(foot - half, 0), 1)), point(min(max(foot + half, 0), 1)))
        let whole = first.angle(to: last)
        (latitude, longitude) = plane.degrees(of: nearest)
        part = min(first.angle(to: nearest) / whole, 1)
        partWithin = min(entry.angle(to: exit) / whole, 1)
    }
}

/// The plane that touches the earth at a place.
private struct TangentPlane {
    /// The mean radius of the earth in metres (IUGG, R1).
    static let earthRadius = 6_371_008.8

    /// A point of the plane, whose unit is the earth's radius: x to the east, y to the north.
    struct Point {
        let x: Double
        let y: Double

        /// The angle between two points, seen from the earth's centre, in radians.
        func angle(to other: Point) -> Double {
            // The third coordinate of both is 1.
            let cross = (y - other.y, other.x - x, x * other.y - y * other.x)
            let length = (cross.0 * cross.0 + cross.1 * cross.1 + cross.2 * cross.2).squareRoot()
            return atan2(length, x * other.x + y * other.y + 1)
        }
    }

    private let east: Vector
    private let north: Vector
    private let up: Vector

    /// Nil if the place has no numbers.
    init?(at place: Coordinates) {
        guard let latitude = Double(place.latitude.text), let longitude = Double(place.longitude.text) else { return nil }
        let (north, east) = (latitude * .pi / 180, longitude * .pi / 180)
        up = Vector(latitude: north, longitude: east)
        self.east = Vector(x: -sin(east), y: cos(east), z: 0)
        self.north = Vector(x: -sin(north) * cos(east), y: -sin(north) * sin(east), z: cos(north))
    }

    /// Nil if the position is on the other half of the earth.
    func point(of position: Position) -> Point? {
        let vector = Vector(latitude: position.latitude * .pi / 180, longitude: position.longitude * .pi / 180)
        let height = vector.dot(up)
        return height > 0 ? Point(x: vector.dot(east) / height, y: vector.dot(north) / height) : nil
    }

    func degrees(of point: Point) -> (latitude: Double, longitude: Double) {
        let x = up.x + point.x * east.x + point.y * north.x
        let y = up.y + point.x * east.y + point.y * north.y
        let z = up.z + point.y * north.z
        return (atan2(z, (x * x + y * y).squareRoot()) * 180 / .pi, atan2(y, x) * 180 / .pi)
    }
}

/// From the earth's centre.
private struct Vector {
    let x: Double
    let y: Double
    let z: Double

    init(x: Double, y: Double, z: Double) { (self.x, self.y, self.z) = (x, y, z) }

    /// - Parameters: radians.
    init(latitude: Double, longitude: Double) {
        self.init(x: cos(latitude) * cos(longitude), y: cos(latitude) * sin(longitude), z: sin(latitude))
    }

    func dot(_ other: Vector) -> Double { x * other.x + y * other.y + z * other.z }
}
