import Access
import Glibc
import JSON
import Primitives
import TestSupport
import Testing

@testable import Fleet

/// When a driver has arrived. The pickup lies on the equator, where a degree is 111,195.08 m in each direction.
@Suite struct ArrivalWatchTests {
    private static let start: Int64 = 1_795_253_400_000
    private static let metresPerDegree = 6_371_008.8 * Double.pi / 180
    private var watch = ArrivalWatch()
    private var rules = TripRules()
    private var last: Position?

    private func order() -> Order {
        var order = Order(code: "A")
        order.assignment = Assignment(status: .enRoute, driver: .init(id: Identifier("42")), version: 3)
        order.pickupCoordinates = Coordinates(latitude: JSONNumber(text: "0"), longitude: JSONNumber(text: "8"))
        order.trip.startedAt = Self.start
        return order
    }

    /// A fix so many metres east and north of the pickup, so many seconds after `en_route`.
    private func fix(_ east: Double, _ north: Double = 0, at seconds: Double, speed: Double? = nil) -> Position {
        Position(
            latitude: north / Self.metresPerDegree, longitude: 8 + east / Self.metresPerDegree, speed: speed,
            recordedAt: Self.start + Int64(seconds * 1_000))
    }

    private mutating func take(_ fix: Position, of order: Order? = nil) -> ArrivalWatch.Finding? {
        let speed = fix.speed ?? fix.speed(since: last, rules)
        last = fix
        return watch.take(fix, speed: speed, of: order ?? self.order(), rules)
    }

    private mutating func takeAll(_ fixes: Position..., of order: Order? = nil) -> [ArrivalWatch.Finding] {
        fixes.compactMap { take($0, of: order) }
    }

    /// 108 km/h, by the phone's speed and by the way; 50 km/h is slow.
    @Test mutating func whoPassesAtSpeedHasNotArrived() {
        #expect(takeAll(fix(-300, at: 0), fix(0, at: 10), fix(300, at: 20), fix(600, at: 30)).isEmpty)
        #expect(takeAll(fix(50, at: 40, speed: 30)).isEmpty)
        let slow = fix(40, at: 50, speed: 13.88)
        #expect(takeAll(slow) == [.arrived(at: slow, isBetween: false)])
        rules.arrivalKmh = 0
        let fast = fix(20, at: 60, speed: 100)
        #expect(takeAll(fast) == [.arrived(at: slow, isBetween: false)], "the stay goes on at any speed")
    }

    /// After a restart the position that was stored may be older than the leaving.
    @Test mutating func whoHasLeftArrivesOnlyByALaterFix() {
        var order = order()
        order.trip.correctedAt = Self.start + 10_000
        #expect(takeAll(fix(20, at: 20), fix(300, at: 40), of: order) == [.left(at: Self.start + 40_000)])
        #expect(takeAll(fix(20, at: 30), of: order).isEmpty, "the store does not know of the leaving yet")
        order.trip.leftAt = Self.start + 40_000
        watch = ArrivalWatch()
        #expect(takeAll(fix(20, at: 30), fix(20, at: 39.999), of: order).isEmpty, "after a restart")
        let back = fix(20, at: 40)
        #expect(takeAll(back, of: order) == [.arrived(at: back, isBetween: false)])
    }

    /// Too little or too much time, or more than 300 km/h: the speed is not known, which counts as slow.
    @Test(
        arguments: [
            (0.9, -300, true), (1, -60, false), (3.6, -300.1, true), (120, -2_000, false), (120.001, -2_000, true),
        ] as [(Double, Double, Bool)])
    mutating func anUnknownSpeedIsSlow(_ seconds: Double, _ east: Double, _ arrives: Bool) {
        _ = take(fix(east, at: 0))
        #expect((take(fix(0, at: seconds)) != nil) == arrives)
    }

    @Test mutating func theArrivalIsTheBeginningOfALongEnoughStay() {
        rules.arrivalDwellSeconds = 30
        let begin = fix(99, at: 10)
        #expect(takeAll(fix(120, at: 0), begin, fix(149, at: 20), fix(10, at: 39.999)).isEmpty)
        #expect(takeAll(fix(149, at: 40)) == [.arrived(at: begin, isBetween: false)])
    }

    @Test(arguments: [(0, 151), (120, 120.1)] as [(Double, Double)]) mutating func whoLeavesBeginsANewStay(
        _ exit: Double, _ away: Double
    ) {
        rules.arrivalDwellSeconds = 30
        rules.arrivalExitMetres = exit
        let again = fix(99, at: 80)
        #expect(takeAll(fix(0, at: 10), fix(away, at: 30), again, fix(0, at: 109)).isEmpty)
        #expect(takeAll(fix(0, at: 110)) == [.arrived(at: again, isBetween: false)])
    }

    @Test mutating func speedEndsAStay() {
        rules.arrivalDwellSeconds = 30
        #expect(takeAll(fix(0, at: 10), fix(0, at: 20, speed: 20), fix(0, at: 45)).isEmpty)
    }

    /// 400 m in 60 s, past the pickup at 50 m.
    @Test mutating func theWayBetweenTwoFixesShowsAnArrival() throws {
        guard case .arrived(let place, let isBetween)? = takeAll(fix(-100, 50, at: 10), fix(300, 50, at: 70)).first else {
            Issue.record("no arrival")
            return
        }
        #expect(isBetween && place.recordedAt == Self.start + 25_000)
        #expect(abs(place.metres(to: fix(0, 50, at: 0))) < 0.01)
    }

    @Test(
        arguments: [
            (60.0, 1_001.0, 50, 0, false), (60, 400, 50, 0, true), (60, 400, 100.5, 0, false), (121, 400, 50, 0, false),
            (120, 400, 50, 0, true), (0.9, 250, 50, 0, false),
            // 173 m of 400 m lie in the circle: 26 of 60 s.
            (60, 400, 50, 25, true), (60, 400, 50, 27, false),
        ] as [(Double, Double, Double, Int, Bool)])
    mutating func theWayBetweenCounts(_ seconds: Double, _ metres: Double, _ across: Double, _ dwell: Int, _ arrives: Bool) {
        rules.arrivalDwellSeconds = dwell
        let findings = takeAll(fix(-metres / 2, across, at: 10), fix(metres / 2, across, at: 10 + seconds))
        #expect(findings.isEmpty != arrives)
    }

    @Test mutating func withoutAGapEachFixCountsByItself() {
        rules.arrivalGapSeconds = 0
        #expect(takeAll(fix(-200, at: 10), fix(200, at: 70)).isEmpty)
        #expect(takeAll(fix(0, at: 80)).count == 1, "no speed is known")
    }

    @Test mutating func whatWasBeforeTheReportDoesNotCount() {
        #expect(takeAll(fix(-200, at: -10), fix(200, at: 50), fix(0, at: -1)).isEmpty)
        #expect(takeAll(fix(0, at: 0)).count == 1)
    }

    @Test mutating func afterACorrectionTheDriverMustLeaveFirst() {
        var corrected = order()
        corrected.trip.correctedAt = Self.start + 60_000
        #expect(
            takeAll(fix(0, at: 50), fix(500, at: 59), fix(0, at: 100), fix(150, at: 200), fix(0, at: 300), of: corrected).isEmpty)
        let left = fix(151, at: 320)
        #expect(takeAll(left, of: corrected) == [.left(at: left.recordedAt)])
        let back = fix(0, at: 400)
        #expect(takeAll(back, of: corrected) == [.arrived(at: back, isBetween: false)])
        // Another correction.
        corrected.trip.correctedAt = Self.start + 450_000
        #expect(takeAll(fix(0, at: 500), of: corrected).isEmpty)
        // The process has been started again, and the store knows that the driver left.
        (watch, last) = (ArrivalWatch(), nil)
        corrected.trip.leftAt = Self.start + 520_000
        #expect(takeAll(fix(0, at: 530), of: corrected).count == 1)
    }

    /// The way to the fix that shows that the driver has left began at the pickup.
    @Test mutating func theWayOutIsNoArrival() {
        var corrected = order()
        corrected.trip.correctedAt = Self.start
        #expect(takeAll(fix(-120, at: 10), fix(200, at: 60), of: corrected) == [.left(at: Self.start + 60_000)])
        #expect(takeAll(fix(-120, at: 110), of: corrected).count == 1, "the way back")
    }

    @Test mutating func anotherPickupBeginsAnew() {
        rules.arrivalDwellSeconds = 30
        _ = take(fix(0, at: 10))
        watch.forgetStay()
        #expect(takeAll(fix(0, at: 41)).isEmpty)
        #expect(takeAll(fix(0, at: 71)) == [.arrived(at: fix(0, at: 41), isBetween: false)])
    }

    /// Random walks with noise, stops, gaps, jumps and fixes of the same time, against a model that looks at the whole
    /// history for each fix.
    @Test(arguments: 1...40) mutating func agreesWithASlowModel(_ seed: UInt64) {
        var random = SplitMix(seed: seed)
        var arrivals = 0
        for _ in 0..<25 {
            (watch, last) = (ArrivalWatch(), nil)
            rules.arrivalKmh = [0, 20, 50].randomElement(using: &random)!
            rules.arrivalDwellSeconds = [0, 0, 20, 60].randomElement(using: &random)!
            rules.arrivalGapSeconds = [0, 30, 120].randomElement(using: &random)!
            rules.arrivalExitMetres = [0, 100, 300].randomElement(using: &random)!
            var history: [Position] = []
            var (east, north, time) = (Double.random(in: -900...900, using: &random), 0.0, 0.0)
            for _ in 0..<40 {
                let seconds = [0, 0.5, 1, 5, 12, 30, 90, 130].randomElement(using: &random)!
                let speed = [0.0, 1, 8, 13, 30].randomElement(using: &random)!
                east += (east > 0 ? -1 : 1) * seconds * speed
                north = Double.random(in: -130...130, using: &random)
                if Int.random(in: 0..<15, using: &random) == 0 { east += 5_000 }
                if Int.random(in: 0..<15, using: &random) == 0 { east = Double.random(in: -400...400, using: &random) }
                time += seconds
                let told = Bool.random(using: &random) ? speed : nil
                let next = fix(east, north, at: time, speed: told)
                history.append(next)
                let found = take(next)
                guard let expected = Self.model(history, rules, metresPerDegree: Self.metresPerDegree) else { continue }
                #expect((found != nil) == (expected != .none), "\(history.count) \(next) \(rules)")
                guard case .arrived(let place, let isBetween)? = found else { continue }
                arrivals += 1
                #expect(isBetween == (expected == .between))
                if case .stay(let begin) = expected { #expect(place == begin) }
            }
        }
        #expect(arrivals > 10)
    }

    private enum Expected: Equatable {
        case none
        case stay(Position)
        case between
    }

    /// Nil: too near a limit for the model, which looks at points along the way.
    private static func model(_ history: [Position], _ rules: TripRules, metresPerDegree: Double) -> Expected? {
        func plane(_ position: Position) -> (x: Double, y: Double) {
            ((position.longitude - 8) * metresPerDegree, position.latitude * metresPerDegree)
        }
        func distance(_ position: Position) -> Double { hypot(plane(position).x, plane(position).y) }
        func isSlow(_ index: Int) -> Bool {
            if rules.arrivalKmh == 0 { return true }
            if let speed = history[index].speed { return speed * 3.6 <= rules.arrivalKmh }
            guard index > 0 else { return true }
            let (a, b) = (plane(history[index - 1]), plane(history[index]))
            let time = Double(history[index].recordedAt - history[index - 1].recordedAt) / 1_000
            guard time >= 1, time <= Double(rules.arrivalGapSeconds) else { return true }
            let kmh = hypot(a.x - b.x, a.y - b.y) / time * 3.6
            return kmh > 300 || kmh <= rules.arrivalKmh
        }
        let exit = rules.arrivalExitMetres > 0 ? rules.arrivalExitMetres : 150
        var begin: Position?
        for index in history.indices.reversed() {
            let metres = distance(history[index])
            if abs(metres - exit) < 0.01 || abs(metres - 100) < 0.01 { return nil }
            guard isSlow(index), metres <= exit else { break }
            if metres <= 100 { begin = history[index] }
        }
        let newest = history[history.count - 1]
        if let begin, newest.recordedAt - begin.recordedAt >= Int64(rules.arrivalDwellSeconds) * 1_000 { return .stay(begin) }
        guard history.count > 1 else { return Expected.none }
        let previous = history[history.count - 2]
        let time = Double(newest.recordedAt - previous.recordedAt) / 1_000
        guard distance(newest) > 100, distance(previous) > 100, time >= 1, time <= Double(rules.arrivalGapSeconds) else {
            return Expected.none
        }
        let (a, b) = (plane(previous), plane(newest))
        let kmh = hypot(a.x - b.x, a.y - b.y) / time * 3.6
        if abs(kmh - 300) < 0.1 || abs(kmh - rules.arrivalKmh) < 0.1 { return nil }
        guard kmh <= 300, rules.arrivalKmh == 0 || kmh <= rules.arrivalKmh else { return Expected.none }
        let steps = 20_000
        let distances = (0...steps).map { step in
            let part = Double(step) / Double(steps)
            return hypot(a.x + (b.x - a.x) * part, a.y + (b.y - a.y) * part)
        }
        let least = distances.min()!
        let within = Double(distances.count { $0 <= 100 }) / Double(steps) * time
        if abs(least - 100) < 0.1 || abs(within - Double(rules.arrivalDwellSeconds)) < 0.1 { return nil }
        return least <= 100 && within >= Double(rules.arrivalDwellSeconds) ? .between : Expected.none
    }
}
