import Glibc
import JSON
import TestSupport
import Testing

@testable import Fleet

/// The way between two fixes, compared with points along it, whose distances another formula computes.
@Suite struct PassageTests {
    private static let metresPerDegree = 6_371_008.8 * Double.pi / 180

    private func place(_ latitude: Double, _ longitude: Double) -> Coordinates {
        Coordinates(latitude: JSONNumber(text: "\(latitude)"), longitude: JSONNumber(text: "\(longitude)"))
    }

    private func position(_ latitude: Double, _ longitude: Double) -> Position {
        Position(latitude: latitude, longitude: longitude, recordedAt: 0)
    }

    /// A point on the great circle, by the angle between the ends (spherical interpolation).
    private func point(_ part: Double, from start: Position, to end: Position) -> Position {
        func vector(_ position: Position) -> (Double, Double, Double) {
            let (north, east) = (position.latitude * .pi / 180, position.longitude * .pi / 180)
            return (cos(north) * cos(east), cos(north) * sin(east), sin(north))
        }
        let (a, b) = (vector(start), vector(end))
        // The chord is as good as the arc for ways of a few kilometres.
        let (x, y, z) = (a.0 + (b.0 - a.0) * part, a.1 + (b.1 - a.1) * part, a.2 + (b.2 - a.2) * part)
        return position(atan2(z, (x * x + y * y).squareRoot()) * 180 / .pi, atan2(y, x) * 180 / .pi)
    }

    /// Cities, both sides of the antimeridian, and near the poles.
    private static let places: [(Double, Double)] = [
        (51.5, -0.12), (-33.87, 151.21), (0, 179.9999), (0, -180), (65, -179.9995), (89.999, 12), (-89.9995, -100), (90, 0),
    ]

    @Test(arguments: places) func agreesWithPointsAlongTheWay(_ latitude: Double, _ longitude: Double) {
        var random = SplitMix(seed: UInt64(abs(latitude) * 1_000) + 7)
        var met = 0
        for _ in 0..<300 {
            // Metres from the place, on a plane that is turned to it.
            func end() -> Position {
                let (north, east) = (
                    Double.random(in: -900...900, using: &random), Double.random(in: -900...900, using: &random)
                )
                return moved(latitude, longitude, north: north, east: east)
            }
            let (start, last) = (end(), end())
            let steps = 2_000
            let distances = (0...steps).map { index in
                point(Double(index) / Double(steps), from: start, to: last).metres(to: place(latitude, longitude))
            }
            let (index, least) = distances.enumerated().min { $0.element < $1.element }.map { ($0.offset, $0.element) }!
            guard abs(least - 100) > 1 else { continue }
            let passage = Passage(from: start, to: last, past: place(latitude, longitude), within: 100)
            #expect((passage != nil) == (least < 100), "\(start) \(last): \(least)")
            guard let passage else { continue }
            met += 1
            let nearest = position(passage.latitude, passage.longitude)
            #expect(abs(nearest.metres(to: place(latitude, longitude)) - least) < 1)
            #expect(abs(passage.part - Double(index) / Double(steps)) < 0.02)
            let within = Double(distances.count { $0 <= 100 }) / Double(distances.count)
            #expect(abs(passage.partWithin - within) < 0.02, "\(passage.partWithin) \(within)")
        }
        #expect(met > 20)
    }

    /// A point so many metres from a place. Near a pole, a step to the east is one along a great circle.
    private func moved(_ latitude: Double, _ longitude: Double, north: Double, east: Double) -> Position {
        let (b, l) = (latitude * .pi / 180, longitude * .pi / 180)
        let (up, n, e) = (
            (cos(b) * cos(l), cos(b) * sin(l), sin(b)), (-sin(b) * cos(l), -sin(b) * sin(l), cos(b)),
            (-sin(l), cos(l), 0.0)
        )
        let (dn, de) = (north / 6_371_008.8, east / 6_371_008.8)
        let (x, y, z) = (up.0 + dn * n.0 + de * e.0, up.1 + dn * n.1 + de * e.1, up.2 + dn * n.2 + de * e.2)
        return position(atan2(z, (x * x + y * y).squareRoot()) * 180 / .pi, atan2(y, x) * 180 / .pi)
    }

    @Test func aWayThatEndsBeforeThePlaceDoesNotReachIt() {
        let metres = { (metres: Double) in self.position(50 + metres / Self.metresPerDegree, 8) }
        #expect(Passage(from: metres(-500), to: metres(-101), past: place(50, 8), within: 100) == nil)
        #expect(Passage(from: metres(-500), to: metres(-99), past: place(50, 8), within: 100) != nil)
        #expect(Passage(from: metres(-500), to: metres(-500), past: place(50, 8), within: 100) == nil)
        let through = Passage(from: metres(-300), to: metres(100.5), past: place(50, 8), within: 100)
        #expect(through.map { abs($0.part - 300 / 400.5) < 0.0001 && abs($0.partWithin - 200 / 400.5) < 0.0001 } == true)
    }

    @Test func theOtherSideOfTheEarthIsNoPassage() {
        #expect(Passage(from: position(50, 8), to: position(50, 8.001), past: place(-50, -172), within: 100_000) == nil)
    }
}
