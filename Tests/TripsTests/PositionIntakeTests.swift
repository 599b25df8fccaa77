import Access
import JSON
import Primitives
import Testing

@testable import Fleet

/// Which positions are kept, and what wild ones may cause. Distances are along a meridian.
@Suite struct PositionIntakeTests {
    private static let start: Int64 = 1_795_253_400_000
    private static let metresPerDegree = 6_371_008.8 * Double.pi / 180
    private var trips = LiveTrips()

    private func order(_ status: JobStatus = .enRoute) -> Order {
        var order = Order(code: "A")
        order.assignment = Assignment(status: status, driver: .init(id: Identifier("42")), version: 3)
        order.pickupCoordinates = Coordinates(latitude: JSONNumber(text: "50"), longitude: JSONNumber(text: "8"))
        order.dropoffCoordinates = Coordinates(latitude: JSONNumber(text: "51"), longitude: JSONNumber(text: "8"))
        order.trip.startedAt = Self.start
        if status == .inTransit { order.trip.departedAt = Self.start }
        return order
    }

    /// A position so many metres south of the pickup, so many seconds after the start.
    private func position(
        _ metres: Double, at seconds: Double, of latitude: Double = 50, accuracy: Double? = nil, speed: Double? = nil
    ) -> Position {
        Position(
            latitude: latitude - metres / Self.metresPerDegree, longitude: 8, accuracy: accuracy, speed: speed,
            recordedAt: Self.start + Int64(seconds * 1_000))
    }

    private mutating func report(_ positions: Position..., at seconds: Double) -> (LocationReceipt, [TripStep.Kind]) {
        var effects: [LiveTrips.Effect] = []
        let now = LiveTrips.Time(wall: Self.start + Int64(seconds * 1_000), monotonic: Int64(seconds * 1_000))
        let receipt = trips.report(positions, ofDriver: "42", now: now, &effects)
        return (receipt, effects.compactMap { if case .take(let step) = $0 { step.kind } else { nil } })
    }

    @Test mutating func eachPositionHasOneOutcome() {
        trips.update(order(), card: nil)
        let null = Position(latitude: 0, longitude: 0, recordedAt: Self.start + 9_000)
        let (receipt, _) = report(
            position(9_000, at: 5), position(9_000, at: 5), position(8_990, at: 6, accuracy: -1), null, position(8_980, at: -700),
            position(8_970, at: 7), at: 10)
        #expect(receipt == LocationReceipt(accepted: 2, ignored: 4, copies: 1, invalid: 1, sharing: ["A"]))
        #expect(trips.track(ofDriver: "42").newest?.recordedAt == Self.start + 7_000)
        let (again, steps) = report(position(8_970, at: 7), at: 11)
        #expect(again == LocationReceipt(ignored: 1, copies: 1, sharing: ["A"]) && steps.isEmpty)
        #expect(report(position(8_970, at: 8), at: 11).0.accepted == 1, "a driver who stands still")
    }

    /// The gateway gives the present time to positions without one: two requests of one millisecond are no copies.
    @Test mutating func aPositionWithoutATimeIsNoCopy() {
        trips.update(order(), card: nil)
        var timeless = position(9_000, at: 0)
        timeless.recordedAt = .max
        for _ in 0..<2 { #expect(report(timeless, at: 5).0.accepted == 1) }
    }

    @Test mutating func jumpsAreTakenByDefault() {
        trips.update(order(), card: nil)
        #expect(report(position(9_000, at: 5), position(500_000, at: 6), at: 6).0.accepted == 2)
    }

    @Test mutating func aJumpIsHeldBackUntilAnotherPositionAgrees() {
        var rules = TripRules()
        rules.jumpKmh = 360  // 100 m/s
        trips = LiveTrips(rules)
        trips.update(order(), card: nil)
        #expect(report(position(9_000, at: 0), at: 0).0.accepted == 1)
        #expect(report(position(5_000, at: 10), at: 10).0 == LocationReceipt(ignored: 1, jumps: 1, sharing: ["A"]))
        #expect(trips.track(ofDriver: "42").newest == position(9_000, at: 0))
        // It agrees with the newest position: the held one was wrong.
        #expect(report(position(8_800, at: 20), at: 20).0.accepted == 1)
        #expect(report(position(5_000, at: 21), at: 21).0.jumps == 1)
        #expect(report(position(1_000, at: 22), at: 22).0.jumps == 1, "agrees with neither")
        // Both are kept; the one of the earlier request has been counted.
        #expect(report(position(950, at: 23), at: 23).0 == LocationReceipt(accepted: 1, sharing: ["A"]))
        #expect(trips.track(ofDriver: "42").newest?.recordedAt == Self.start + 23_000)
        // In one request, both count as accepted.
        #expect(
            report(position(90_000, at: 24), position(89_990, at: 25), position(60_000, at: 26), at: 26).0
                == LocationReceipt(accepted: 2, ignored: 1, jumps: 1, sharing: ["A"]))
    }

    /// The accuracies make 100 m less of the distance, and less than a second counts as one.
    @Test mutating func aJumpIsJudgedWithTheAccuracies() {
        var rules = TripRules()
        rules.jumpKmh = 360
        trips = LiveTrips(rules)
        trips.update(order(), card: nil)
        _ = report(position(9_000, at: 0, accuracy: 60), at: 0)
        #expect(report(position(8_799, at: 0.1, accuracy: 40), at: 1).0.jumps == 1)
        #expect(report(position(8_801, at: 0.1, accuracy: 40), at: 1).0.accepted == 1)
    }

    @Test mutating func anotherNodeJudgesInTheSameWay() {
        var rules = TripRules()
        rules.jumpKmh = 360
        trips = LiveTrips(rules)
        trips.update(order(), card: nil)
        let now = LiveTrips.Time(wall: Self.start + 30_000, monotonic: 0)
        trips.record(
            [position(9_000, at: 0), position(5_000, at: 1), position(9_000, at: 2, accuracy: -1)], ofDriver: "42", now: now)
        #expect(trips.track(ofDriver: "42").newest == position(9_000, at: 0))
        #expect(report(position(4_990, at: 3), at: 30).0.accepted == 1, "agrees with the one held back")
    }

    /// The driver passes at 108 km/h, and the next position goes to another node.
    @Test mutating func aNodeKnowsTheSpeedFromPositionsOfOthers() {
        trips.update(order(), card: nil)
        let now = LiveTrips.Time(wall: Self.start + 100_000, monotonic: 0)
        trips.record([position(300, at: 80)], ofDriver: "42", now: now)
        #expect(report(position(0, at: 90), at: 90).1 == [.tellNearby(etaMinutes: 0)])
        trips.record([position(-300, at: 100)], ofDriver: "42", now: now)
        let slow = position(-90, at: 120)
        #expect(report(slow, at: 120).1 == [.arrive(at: slow)])
    }

    // MARK: Wild positions

    @Test(
        arguments: [
            (50.0, nil, 30.0), (50, 101, 1_400), (0, nil, 0.5),
        ] as [(Double, Double?, Double)])
    mutating func aWildPositionTellsNothing(_ latitude: Double, _ accuracy: Double?, _ metres: Double) {
        trips.update(order(), card: nil)
        _ = report(position(12_000, at: 60), at: 60)
        _ = report(position(11_900, at: 70), at: 70)
        let wild = position(metres + 600, at: 80, of: latitude, accuracy: accuracy)
        #expect(report(wild, at: 80).1.isEmpty)
        #expect(report(position(11_800, at: 90), at: 90).1.isEmpty, "the way back is as wild")
        #expect(report(position(11_700, at: 100), at: 100).1.isEmpty, "the speed is that of the good parts")
        // The moment is not spent.
        #expect(report(position(1_500, at: 580), at: 580).1 == [.tellNearby(etaMinutes: 4)])
    }

    @Test mutating func aWildPositionIsNotNearTheDestination() {
        trips.update(order(.inTransit), card: nil)
        _ = report(position(9_000, at: 60, of: 51), at: 60)
        #expect(report(position(100, at: 70, of: 51), at: 70).1.isEmpty)
        #expect(report(position(90, at: 80, of: 51, accuracy: 101), at: 80).1.isEmpty)
        #expect(report(position(95, at: 85, of: 51), at: 85).1.count == 1)
    }

    // MARK: Arrivals

    @Test mutating func aCorrectionLetsAnArrivalHappenOnceMore() {
        trips.update(order(), card: nil)
        let first = position(50, at: 61)
        #expect(report(first, at: 61).1 == [.arrive(at: first)])
        var arrived = order(.arrived)
        arrived.trip.arrivedAt = first.recordedAt
        trips.beginUpdate(arrived)
        trips.update(arrived, card: nil)
        trips.finished(TripStep(orderCode: "A", driverID: "42", startedAt: Self.start, .arrive(at: first)))
        var corrected = order()
        corrected.trip.correctedAt = Self.start + 70_000
        corrected.trip.nearbyToldAt = Self.start + 70_000
        trips.beginUpdate(corrected)
        trips.update(corrected, card: nil)
        #expect(report(position(40, at: 80), at: 80).1.isEmpty)
        #expect(report(position(400, at: 110), at: 110).1 == [.leave(at: Self.start + 110_000)])
        let back = position(60, at: 140)
        #expect(report(back, at: 140).1 == [.arrive(at: back)])
    }

    @Test mutating func theWayBetweenFixesIsAnArrival() throws {
        trips.update(order(), card: nil)
        _ = report(position(300, at: 65), at: 65)
        guard case .arrive(let place, let isBetween)? = report(position(-300, at: 125), at: 125).1.first else {
            Issue.record("no arrival")
            return
        }
        #expect(isBetween && place.recordedAt == Self.start + 95_000)
    }

    /// The process ends while the driver passes the pickup at 108 km/h.
    @Test mutating func aRestoredPositionKeepsItsSpeed() {
        var told = order()
        told.trip.nearbyToldAt = Self.start
        trips.update(told, card: nil)
        _ = report(position(300, at: 80), position(0, at: 90), at: 90)
        let unsaved = trips.takeUnsaved()
        #expect(unsaved.first?.position.speed.map { abs($0 - 30) < 0.01 } == true)
        trips = LiveTrips()
        trips.update(told, card: nil)
        var effects: [LiveTrips.Effect] = []
        trips.restore(unsaved[0], now: LiveTrips.Time(wall: Self.start + 95_000, monotonic: 0), &effects)
        #expect(effects.isEmpty)
        // From there, the way goes on.
        #expect(report(position(-300, at: 100), at: 100).1.isEmpty)
    }

    @Test mutating func aRestoredPositionThatIsTooOldIsNotShown() {
        var rules = TripRules()
        rules.positionHours = 1
        for (age, isShown) in [(3_600.0, true), (3_600.001, false)] {
            trips = LiveTrips(rules)
            trips.update(order(), card: nil)
            var effects: [LiveTrips.Effect] = []
            let now = LiveTrips.Time(wall: Self.start + Int64((5 + age) * 1_000), monotonic: 0)
            trips.restore(DriverPosition(driverID: "42", position: position(300, at: 5)), now: now, &effects)
            #expect((trips.track(ofDriver: "42").newest != nil) == isShown)
        }
    }

    @Test mutating func anErasedDriversPositionsAreForgotten() {
        var rules = TripRules()
        rules.arrivalDwellSeconds = 30
        trips = LiveTrips(rules)
        trips.update(order(), card: nil)
        _ = report(position(50, at: 65), at: 65)
        trips.erase(driverID: "42")
        let begin = position(60, at: 100)
        _ = report(begin, at: 100)
        #expect(report(position(50, at: 131), at: 131).1.contains(.arrive(at: begin)))
    }
}
