import Access
import JSON
import Primitives
import Testing

@testable import Fleet

/// What positions and time make due. Distances are along a meridian, where a degree is 111,195.08 m.
@Suite struct LiveTripsTests {
    private static let start: Int64 = 1_795_253_400_000
    private static let metresPerDegree = 6_371_008.8 * Double.pi / 180
    private var trips = LiveTrips()
    private let driver = "42"

    private func order(_ status: JobStatus = .enRoute, _ code: String = "A", startedAt: Int64 = start) -> Order {
        var order = Order(code: code)
        order.assignment = Assignment(status: status, driver: .init(id: Identifier("42")), version: 3)
        order.pickupCoordinates = Coordinates(latitude: JSONNumber(text: "50"), longitude: JSONNumber(text: "8"))
        order.dropoffCoordinates = Coordinates(latitude: JSONNumber(text: "51"), longitude: JSONNumber(text: "8"))
        order.trip.startedAt = startedAt
        if status == .arrived { order.trip.arrivedAt = startedAt + 60_000 }
        if status == .inTransit { order.trip.departedAt = startedAt + 60_000 }
        return order
    }

    /// A position so many metres south of the pickup, so many seconds after the start.
    private func position(_ metres: Double, at seconds: Double, accuracy: Double? = nil) -> Position {
        Position(
            latitude: 50 - metres / Self.metresPerDegree, longitude: 8, accuracy: accuracy,
            recordedAt: Self.start + Int64(seconds * 1_000))
    }

    private func time(_ seconds: Double) -> LiveTrips.Time {
        LiveTrips.Time(wall: Self.start + Int64(seconds * 1_000), monotonic: Int64(seconds * 1_000))
    }

    private mutating func report(_ positions: Position..., at seconds: Double) -> [LiveTrips.Effect] {
        var effects: [LiveTrips.Effect] = []
        _ = trips.report(positions, ofDriver: driver, now: time(seconds), &effects)
        return effects
    }

    private func steps(_ effects: [LiveTrips.Effect]) -> [TripStep.Kind] {
        effects.compactMap { if case .take(let step) = $0 { step.kind } else { nil } }
    }

    @Test mutating func keepsNothingOfADriverWithoutATrip() {
        var effects: [LiveTrips.Effect] = []
        let receipt = trips.report([position(0, at: 1)], ofDriver: driver, now: time(1), &effects)
        #expect(receipt == LocationReceipt(accepted: 0, ignored: 1, sharing: []) && effects.isEmpty)
        #expect(trips.takeUnsaved().isEmpty)
    }

    /// An app that never reports `completed` leaves every job followed.
    @Test mutating func followsTheLastTwentyJobsOfADriver() {
        let codes = (0...1_000).map { "A\($0)" }
        let refused = codes.enumerated().map { trips.update(order(.enRoute, $1, startedAt: Self.start + Int64($0)), card: nil) }
        #expect(refused.firstIndex(of: .driver) == 20 && refused.count { $0 == .driver } == 981)
        #expect(trips.count == 20)
        var effects: [LiveTrips.Effect] = []
        let receipt = trips.report([position(5_000, at: 10)], ofDriver: driver, now: time(10), &effects)
        #expect(receipt.sharing == codes.suffix(20))
        // A change of an older job does not displace a newer one.
        let isDisplaced = trips.update(order(.arrived, "A0", startedAt: Self.start), card: nil)
        #expect(isDisplaced == .driver)
        #expect(trips.view(reference: "A0", now: Self.start) == nil && trips.view(reference: "A1000", now: Self.start) != nil)
        // When one ends, the next one is followed.
        trips.beginUpdate(order(.completed, "A1000", startedAt: Self.start + 1_000))
        let isFull = trips.update(order(.arrived, "A0", startedAt: Self.start), card: nil)
        #expect(isFull == [] && trips.count == 20)
    }

    @Test mutating func showsTheLastOfManyJobsWithOneReference() {
        var refused: [LiveTrips.Excess] = []
        for number in 0..<1_000 {
            var job = order(.enRoute, "A\(number)", startedAt: Self.start + Int64(number))
            job.bookingReference = "TEST"
            job.assignment = Assignment(status: .enRoute, driver: .init(id: Identifier("\(number)")), version: 3)
            refused.append(trips.update(job, card: nil))
        }
        #expect(trips.count == 1_000)
        #expect(refused == Array(repeating: [], count: 20) + Array(repeating: .booking, count: 980))
        #expect(trips.view(reference: "TEST", now: Self.start)?.order.code == "A999")
    }

    @Test(arguments: [(99.0, true), (99.99, true), (100.01, false), (101, false)])
    mutating func arrivesWithinTheConfiguredDistance(_ metres: Double, _ arrives: Bool) {
        trips.update(order(), card: nil)
        let arrived = position(metres, at: 70)
        #expect(steps(report(arrived, at: 70)).contains(.arrive(at: arrived)) == arrives)
    }

    @Test mutating func arrivesOnceAndAnnouncesNoNearbyThen() {
        trips.update(order(), card: nil)
        let first = position(50, at: 71)
        #expect(steps(report(position(900, at: 70), first, position(40, at: 72), at: 72)) == [.arrive(at: first)])
        #expect(steps(report(position(30, at: 73), at: 73)).isEmpty)
    }

    @Test mutating func ignoresInaccuratePositionsAndThoseBeforeTheReport() {
        trips.update(order(), card: nil)
        for position in [position(0, at: -1), position(0, at: 1, accuracy: 100.1)] {
            #expect(steps(report(position, at: 1)) == (position.recordedAt < Self.start ? [.skipNearby] : []))
        }
        let accurate = position(0, at: 2, accuracy: 100)
        #expect(steps(report(accurate, at: 2)) == [.arrive(at: accurate)])
    }

    /// The position in the report itself is not later than the report; one of the same millisecond may be.
    @Test mutating func aPositionOfTheSameMillisecondIsAnArrivalUnlessItIsPartOfTheReport() {
        trips.update(order(), card: nil)
        let same = position(0, at: 0)
        var effects: [LiveTrips.Effect] = []
        _ = trips.report([same], ofDriver: driver, isPartOfProgress: true, now: time(0), &effects)
        #expect(steps(effects) == [.skipNearby])
        let other = position(1, at: 0)
        #expect(steps(report(other, at: 0)) == [.arrive(at: other)])
    }

    @Test mutating func examinesAListOldestFirstAndIgnoresWhatIsTooOld() {
        trips.update(order(startedAt: Self.start - 3_600_000), card: nil)
        var effects: [LiveTrips.Effect] = []
        let list = [position(10, at: 20), position(5_000, at: 30), position(20, at: 10), position(0, at: -601)]
        let receipt = trips.report(list, ofDriver: driver, now: time(30), &effects)
        #expect(receipt == LocationReceipt(accepted: 3, ignored: 1, sharing: ["A"]))
        #expect(steps(effects) == [.arrive(at: list[2])])
        #expect(trips.report([position(1, at: 29)], ofDriver: driver, now: time(31), &effects).ignored == 1)
        #expect(trips.report([position(1, at: 30)], ofDriver: driver, now: time(31), &effects).accepted == 1)
    }

    @Test mutating func aFutureTimeCountsAsNow() {
        trips.update(order(), card: nil)
        var fast = position(3_000, at: 0)
        fast.recordedAt = .max
        _ = report(fast, at: 5)
        #expect(trips.track(ofDriver: "42").newest?.recordedAt == Self.start + 5_000)
        _ = report(position(3_000, at: 65), at: 5)  // 60 s ahead: a phone's clock
        #expect(trips.track(ofDriver: "42").newest?.recordedAt == Self.start + 65_000)
        // The gateway's clock is set back: what is known lies in the future.
        _ = report(position(2_000, at: -100), at: -100)
        #expect(trips.track(ofDriver: "42").newest?.recordedAt == Self.start - 100_000)
    }

    /// The positions of a list without times are minutes apart or none: their times are not known, only their order.
    @Test mutating func ofPositionsWithoutTimesTheLastCounts() {
        func driven(hasTimes: Bool) -> (track: Track, steps: [TripStep.Kind]) {
            var trips = LiveTrips()
            trips.update(order(), card: nil)
            var effects: [LiveTrips.Effect] = []
            for lap in 0..<10 {
                let end = 100 + Double(lap) * 30
                let list = (0..<3).map { index in
                    var position = position(4_500 - 390 * Double(lap) - 130 * Double(index), at: end - 20 + 10 * Double(index))
                    if !hasTimes { position.recordedAt = .max }
                    return position
                }
                let receipt = trips.report(list, ofDriver: driver, now: time(end), &effects)
                #expect(receipt.accepted == 3 && receipt.jumps == 0 && receipt.ignored == 0)
            }
            return (trips.track(ofDriver: driver), steps(effects))
        }
        let (with, without) = (driven(hasTimes: true), driven(hasTimes: false))
        let now = Self.start + 370_000
        let pickup = order().pickupCoordinates
        #expect(without.track.isNewestOnWay)
        #expect(
            without.track.etaMinutes(to: pickup, now: now, TripRules())
                == with.track.etaMinutes(to: pickup, now: now, TripRules()))
        #expect(without.steps.count == with.steps.count && !without.steps.isEmpty)
    }

    @Test mutating func aStayBeginsAnewWhenTheClockIsSetBack() {
        var rules = TripRules()
        rules.arrivalDwellSeconds = 30
        trips = LiveTrips(rules)
        trips.update(order(startedAt: Self.start - 7_200_000), card: nil)
        func arrives(at seconds: Double) -> Bool {
            steps(report(position(10, at: seconds), at: seconds)).contains { if case .arrive = $0 { true } else { false } }
        }
        let back = -3_600.0
        #expect(!arrives(at: 0) && !arrives(at: back) && arrives(at: back + 30))
    }

    /// 3 km at 30 km/h with the detour take 7.8 minutes; 1.9 km take 4.94.
    @Test mutating func tellsNearbyOnceAndNotInTheFirstMinute() {
        trips.update(order(), card: nil)
        #expect(steps(report(position(1_900, at: 60), at: 60)) == [.skipNearby])
        trips = LiveTrips()
        trips.update(order(), card: nil)
        #expect(steps(report(position(3_000, at: 10), at: 10)).isEmpty)
        #expect(steps(report(position(1_900, at: 75), at: 75)) == [.tellNearby(etaMinutes: 5)])
        #expect(steps(report(position(1_899, at: 76), at: 76)).isEmpty)
    }

    @Test mutating func tellsWaitingAfterTheConfiguredTime() {
        trips.update(order(.arrived), card: nil)
        var effects: [LiveTrips.Effect] = []
        trips.tick(time(179), &effects)
        #expect(effects.isEmpty)
        trips.tick(time(180), &effects)
        trips.tick(time(181), &effects)
        #expect(steps(effects) == [.tellWaiting])
    }

    @Test mutating func triesAStepAgainUntilTheStoreAnswers() throws {
        trips.update(order(.arrived), card: nil)
        var effects: [LiveTrips.Effect] = []
        trips.tick(time(200), &effects)
        guard case .take(let step) = try #require(effects.first) else { return }
        trips.failed(step)
        trips.tick(time(201), &effects)
        #expect(steps(effects) == [.tellWaiting, .tellWaiting])
        trips.finished(step)
        effects = []
        var told = order(.arrived)
        told.trip.waitingToldAt = Self.start + 201_000
        trips.update(told, card: nil)
        trips.tick(time(202), &effects)
        #expect(effects.isEmpty)
    }

    /// During an outage of the store, the driver comes nearby, and arrives.
    @Test mutating func doesNotTellNearbyLate() {
        trips.update(order(), card: nil)
        _ = report(position(3_000, at: 10), at: 10)
        guard case .take(let nearby)? = report(position(1_900, at: 75), at: 75).first else {
            Issue.record("nothing was proposed")
            return
        }
        trips.failed(nearby)
        #expect(steps(report(position(50, at: 77), at: 77)).count == 1)
        var effects: [LiveTrips.Effect] = []
        trips.tick(time(78), &effects)
        #expect(steps(effects) == [.arrive(at: position(50, at: 77))])
    }

    @Test mutating func withoutAutomaticArrivalOnlyTheDriverReportsIt() {
        for isAutomatic in [true, false] {
            var rules = TripRules()
            rules.automaticArrival = isAutomatic
            trips = LiveTrips(rules)
            trips.update(order(), card: nil)
            #expect(steps(report(position(1, at: 1), at: 1)).contains(.arrive(at: position(1, at: 1))) == isAutomatic)
        }
    }

    /// The process before has stored the position, but could not store the arrival.
    @Test(arguments: [(50.0, 600.0, 1), (50, 601, 0), (101, 10, 0)])
    mutating func aRestoredPositionMayShowAnArrival(metres: Double, age: Double, count: Int) {
        trips.update(order(), card: nil)
        var effects: [LiveTrips.Effect] = []
        trips.restore(DriverPosition(driverID: "42", position: position(metres, at: 5)), now: time(5 + age), &effects)
        #expect(steps(effects).count == count && trips.track(ofDriver: "42").newest != nil)
        trips.restore(DriverPosition(driverID: "43", position: position(1, at: 5)), now: time(6), &effects)
        #expect(steps(effects).count == count, "driver 43 has no trip")
    }

    @Test mutating func showsDispatchersADriverEveryTwoSeconds() {
        trips.update(order(), card: nil)
        func shown(_ effects: [LiveTrips.Effect]) -> Int {
            effects.count { if case .showDriver = $0 { true } else { false } }
        }
        #expect(shown(report(position(9_000, at: 10), at: 10)) == 1)
        #expect(shown(report(position(8_990, at: 11.9), at: 11.9)) == 0)
        var effects: [LiveTrips.Effect] = []
        trips.tick(time(11.95), &effects)
        #expect(shown(effects) == 0)
        trips.tick(time(12), &effects)
        trips.tick(time(15), &effects)
        #expect(shown(effects) == 1, "the newest position, once")
    }

    @Test mutating func showsAPositionAgainThatCouldNotBePublished() {
        trips.update(order(), card: nil)
        _ = report(position(9_000, at: 10), at: 10)
        trips.delayLocation(of: "A")
        var effects: [LiveTrips.Effect] = []
        trips.tick(time(10.5), &effects)
        #expect(effects.isEmpty)
        trips.tick(time(11), &effects)
        trips.tick(time(12), &effects)
        #expect(effects.count { if case .showLocation = $0 { true } else { false } } == 1)
    }

    @Test mutating func tellsThatTheDestinationIsNear() {
        var inTransit = order(.inTransit)
        inTransit.dropoffCoordinates = inTransit.pickupCoordinates
        trips.update(inTransit, card: nil)
        #expect(steps(report(position(400, at: 59), position(500.5, at: 61), at: 61)).isEmpty)
        let near = position(499.5, at: 62)
        let told = steps(report(near, position(450, at: 63), at: 63))
        // The positions before are of the last minute: 101.5 m in 3 s, more than the highest speed of 90 km/h.
        #expect(told == [.tellDestinationNear(from: near, etaMinutes: 1)])
    }

    @Test mutating func showsTheFirstPositionAtOnceAndThenOneASecond() {
        trips.update(order(), card: nil)
        func shown(_ effects: [LiveTrips.Effect]) -> [Int64] {
            effects.compactMap { effect -> Int64? in
                guard case .showLocation(let view) = effect, let position = view.position else { return nil }
                return (position.recordedAt - Self.start) / 100
            }
        }
        #expect(shown(report(position(9_000, at: 10), at: 10)) == [100])
        #expect(shown(report(position(8_990, at: 10.5), at: 10.5)).isEmpty)
        #expect(shown(report(position(8_980, at: 10.9), at: 10.9)).isEmpty)
        var effects: [LiveTrips.Effect] = []
        trips.tick(time(11), &effects)
        trips.tick(time(12), &effects)
        #expect(shown(effects) == [109])
    }

    @Test mutating func forgetsADriverWhoseLastTripEnds() {
        trips.update(order(), card: nil)
        trips.update(order(.enRoute, "B", startedAt: Self.start + 1_000), card: nil)
        _ = report(position(9_000, at: 10), at: 10)
        #expect(trips.views(ofDrivers: trips.driverIDs, now: Self.start).map(\.order.code) == ["B"])
        for (code, count) in [("B", 1), ("A", 0)] {
            let ended = order(.completed, code)
            trips.beginUpdate(ended)
            trips.update(ended, card: nil)
            #expect(trips.count == count && trips.views(ofDrivers: trips.driverIDs, now: Self.start).count == count)
        }
        #expect(trips.takeUnsaved().isEmpty && trips.track(ofDriver: "42").newest == nil)
    }

    /// The backend may correct a booking's reference while the driver is on the way.
    @Test mutating func anotherReferenceKeepsTheDriversPositionAndCard() {
        var card = DriverCard(id: "42")
        card.vehicleMake = "VW"
        trips.update(order(), card: card)
        let before = trips.view(reference: "A", now: Self.start)
        _ = report(position(9_000, at: 10), at: 10)
        var moved = order()
        moved.bookingReference = "N"
        trips.beginUpdate(moved)
        #expect(before != nil && trips.view(reference: "A", now: Self.start) == nil)
        trips.update(moved, card: nil)
        let view = trips.view(reference: "N", now: Self.start)
        #expect(view?.position != nil && view?.card == card)
        #expect(trips.views(ofDrivers: trips.driverIDs, now: Self.start).count == 1)
    }

    @Test mutating func namesEachReferenceOnce() {
        for code in ["A", "B"] {
            var order = order(.enRoute, code)
            order.bookingReference = "R"
            trips.update(order, card: nil)
        }
        trips.update(order(.enRoute, "C"), card: nil)
        var effects: [LiveTrips.Effect] = []
        let receipt = trips.report([position(9_000, at: 1)], ofDriver: driver, now: time(1), &effects)
        #expect(receipt.sharing == ["R", "C"])
    }

    @Test mutating func givesTheStoreEachPositionOnce() {
        trips.update(order(), card: nil)
        _ = report(position(9_000, at: 10), position(8_000, at: 20), at: 20)
        let unsaved = trips.takeUnsaved()
        #expect(unsaved == [DriverPosition(driverID: "42", position: position(8_000, at: 20))])
        #expect(trips.takeUnsaved().isEmpty)
        trips.putBack(unsaved)
        #expect(trips.takeUnsaved() == unsaved)
        trips.erase(driverID: "42")
        trips.putBack(unsaved)
        #expect(trips.takeUnsaved().isEmpty && trips.count == 1)
    }
}
