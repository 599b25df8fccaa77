import Fleet
import JSON
import Testing

/// Distances and ETAs. The figures were computed by an independent program (the angle
/// between vectors, in Python).
@Suite struct TrackTests {
    private let now: Int64 = 1_795_253_400_000

    private static let greatCircles: [((Double, Double), (Double, Double), Double)] = [
        ((51.5074, -0.1278), (47.3769, 8.5417), 776235.2160),
        ((0, 179.9995), (0, -179.9995), 111.1951),
        ((90, 0), (89.999, 77), 111.1951),
        ((-90, 12), (90, -40), 20015114.4420),
        ((10, 20), (10, 20), 0.0000),
        ((10, 20), (-10, -160), 20015114.4420),
        ((51.5, 0), (51.5009, 0), 100.0756),
        ((-33.8688, 151.2093), (40.7128, -74.006), 15988777.5916),
        ((89.9999, -90), (89.9999, 90), 22.2390),
    ]

    private func position(_ latitude: Double, _ longitude: Double, at seconds: Double = 0) -> Position {
        Position(latitude: latitude, longitude: longitude, recordedAt: now + Int64(seconds * 1_000))
    }

    @Test(arguments: greatCircles)
    func distancesAlongTheGreatCircle(_ from: (Double, Double), _ to: (Double, Double), _ metres: Double) {
        let one = position(from.0, from.1)
        let other = position(to.0, to.1)
        #expect(abs(one.metres(to: other) - metres) < 0.001, "\(one.metres(to: other))")
        #expect(abs(other.metres(to: one) - metres) < 0.001)
    }

    private func place(_ latitude: String, _ longitude: String) -> Coordinates {
        Coordinates(latitude: JSONNumber(text: latitude), longitude: JSONNumber(text: longitude))
    }

    private func track(_ positions: Position...) -> Track {
        positions.reduce(into: Track()) { $0.add($1, TripRules()) }
    }

    @Test func theETANeedsAFreshPositionAndAPlace() {
        var rules = TripRules()
        rules.detourFactor = 1
        let eta = { track($0).etaMinutes(to: place("0", "0.1"), now: now, rules) }
        func track(_ position: Position) -> Track { self.track(position) }
        // 11,119.5 m at 30 km/h: 22.2 minutes.
        #expect(eta(position(0, 0)) == 23)
        #expect(eta(position(0, 0, at: -60)) == 23)
        #expect(eta(position(0, 0, at: -60.001)) == nil)
        #expect(track(position(0, 0)).etaMinutes(to: nil, now: now, rules) == nil)
        #expect(Track().etaMinutes(to: place("0", "0.1"), now: now, rules) == nil)
    }

    /// A degree of longitude on the equator is 111,195.08 m; with a speed of 54 km/h the last 10,007.6 m take 11.12
    /// minutes, at 10 km/h 60.05 and at 90 km/h 6.67. 360 km/h are no speed: the default of 30 km/h holds.
    @Test(arguments: [(15.0, 12), (0.0, 61), (2.0, 61), (60.0, 7), (100.0, 21)])
    func theSpeedIsThatOfTheLastMinuteWithinLimits(_ metresPerSecond: Double, _ minutes: Int) {
        var rules = TripRules()
        rules.detourFactor = 1
        let degrees = metresPerSecond * 20 / 111_195.0797
        let track = track(
            position(0, -1, at: -200), position(0, 0.01 - 2 * degrees, at: -40), position(0, 0.01 - degrees, at: -20),
            position(0, 0.01))
        #expect(track.etaMinutes(to: place("0", "0.1"), now: now, rules) == minutes)
    }

    /// 54 km/h but for a jump to another country: the last 10,007.6 m take 11.12 minutes.
    @Test func aJumpAddsNoWay() {
        var rules = TripRules()
        rules.detourFactor = 1
        let degrees = 15 * 10 / 111_195.0797
        var track = Track()
        for index in 0...4 {
            track.add(position(0, 0.01 - Double(4 - index) * degrees, at: Double(index - 4) * 10), rules)
            #expect(track.isNewestOnWay == (index != 2), "the way back from the jump is as wild")
            if index == 1 {
                track.add(position(48, 16, at: -25), rules)
                #expect(!track.isNewestOnWay)
            }
        }
        #expect(track.etaMinutes(to: place("0", "0.1"), now: now, rules) == 12)
    }

    /// The speed between fixes of one time is not known: only what came before can say that the driver may be there.
    @Test func ofFixesOfOneTimeTheLastReplacesTheOthers() {
        let rules = TripRules()
        var track = Track()
        track.add(position(0, 0, at: -20), rules)
        track.add(position(0, 0.01, at: -20), rules)
        #expect(!track.isNewestOnWay, "no fix before: one wild position of two tells nothing")
        for metres in [100.0, 230, 360] { track.add(position(0, metres / 111_195.0797, at: 0), rules) }
        #expect(track.isNewestOnWay)
        track.add(position(48, 16, at: 0), rules)
        #expect(!track.isNewestOnWay)
    }

    /// 2,500 m in 36 s are 250 km/h, which counts as 90; more does not count at all, so that the default of 30 km/h holds.
    @Test(arguments: [(2_499.9, 7), (2_500.1, 21)]) func theFastestPartThatCounts(_ metres: Double, _ minutes: Int) {
        var rules = TripRules()
        rules.detourFactor = 1
        let track = track(position(0, -metres / 111_195.0797, at: -36), position(0, 0))
        #expect(track.etaMinutes(to: place("0", "0.0919"), now: now, rules) == minutes)
    }

    @Test func aPositionThatIsNotAccurateAddsNoWay() {
        var track = Track()
        track.add(position(0, 0, at: -20), TripRules())
        var inaccurate = position(0, 0.001, at: -10)
        inaccurate.accuracy = 100.5
        track.add(inaccurate, TripRules())
        #expect(!track.isNewestOnWay && track.newest == inaccurate && track.lastFix == position(0, 0, at: -20))
        inaccurate.accuracy = Position.badAccuracy
        #expect(!inaccurate.isFix(TripRules()))
        inaccurate.accuracy = 100
        #expect(inaccurate.isFix(TripRules()))
    }

    @Test func manyPositionsTakeLittleMemoryAndKeepTheLengthOfTheWay() {
        var rules = TripRules()
        rules.detourFactor = 1
        var track = Track()
        for index in 0...5_000 { track.add(position(0, Double(index) * 0.0000018, at: Double(index - 5_000) / 100), TripRules()) }
        // 5,000 steps of 0.2 m in 50 s: 72 km/h, and 11,119.5 m to go.
        #expect(track.etaMinutes(to: place("0", "0.109"), now: now, rules) == 10)
        #expect(MemoryLayout<Track>.size <= 128)
    }
}
