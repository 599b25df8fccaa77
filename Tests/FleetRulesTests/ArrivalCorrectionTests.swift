import Access
import Fleet
import JSON
import Primitives
import Testing

/// Arrivals that are taken back.
@Suite struct ArrivalCorrectionTests {
    private static let arrivedAt = RulesFixture.now - 1_000_000
    private static let minutes: Int64 = 60_000

    private func arrived() -> Order {
        var order = RulesFixture.order(.arrived, driver: "42", name: "Dan")
        order.pickupCoordinates = Coordinates(latitude: JSONNumber(text: "50"), longitude: JSONNumber(text: "8"))
        order.trip.startedAt = Self.arrivedAt - 600_000
        order.trip.arrivedAt = Self.arrivedAt
        order.trip.isArrivedByPosition = true
        order.trip.waitingToldAt = Self.arrivedAt + 120_000
        order.trip.driverName = "Token"
        return order
    }

    private func undo(reason: String? = nil) -> ProgressReport {
        var report = ProgressReport(step: .enRoute)
        (report.isUndo, report.reason) = (true, reason)
        return report
    }

    private func error(
        of order: Order, _ report: ProgressReport, _ history: ArrivalHistory = .init(), after last: AuditEntry? = nil,
        undoMinutes: Int = 10
    ) -> RuleError? {
        var planner = RulesFixture.planner()
        var context = RulesFixture.context(by: RulesFixture.driver)
        context.trips.undoMinutes = undoMinutes
        do throws(RuleError) {
            _ = try planner.progress(report, of: order, after: last, given: history, context)
            return nil
        } catch {
            return error
        }
    }

    @Test func theDriverIsOnTheWayAgain() throws {
        var planner = RulesFixture.planner()
        let plan = try planner.correctArrival("ORD-1", of: arrived(), reason: nil, RulesFixture.context())
        var expected = arrived()
        (expected.assignment.status, expected.assignment.version) = (.enRoute, 6)
        (expected.trip.arrivedAt, expected.trip.isArrivedByPosition, expected.trip.waitingToldAt) = (nil, false, nil)
        expected.trip.correctedAt = RulesFixture.now
        #expect(plan.order == expected)
        #expect(
            plan.published == [
                "booking-REF-1 arrival-corrected", "driver-42 job-corrected", "admin-channel job-corrected",
            ])
    }

    @Test func theETAIsToldAndCountsAsNearby() throws {
        var planner = RulesFixture.planner()
        for (metres, isNearby) in [(1_000.0, true), (9_000, false)] {
            var context = RulesFixture.context()
            context.track.add(
                Position(latitude: 50 + metres / 111_195.08, longitude: 8, recordedAt: RulesFixture.now), context.trips)
            let plan = try planner.correctArrival("ORD-1", of: arrived(), reason: nil, context)
            let minutes = (metres * 1.3 / (30 / 3.6) / 60).rounded(.up)
            #expect(plan.notifications[0].text.contains("\"eta_minutes\":\(Int(minutes)),"))
            #expect((plan.order?.trip.nearbyToldAt != nil) == isNearby)
        }
    }

    @Test(arguments: JobStatus.allCases.filter { $0 != .arrived }) func onlyAnArrivalIsTakenBack(_ status: JobStatus) {
        var planner = RulesFixture.planner()
        var order = arrived()
        order.assignment.status = status
        let refused = ruleError { [order] () throws(RuleError) in
            try planner.correctArrival("ORD-1", of: order, reason: nil, RulesFixture.context())
        }
        #expect(refused == RuleError(.notArrived, "Order ORD-1", status.rawValue))
        // The driver's report is one of the step.
        let plain = error(of: order, ProgressReport(step: .enRoute))
        #expect(error(of: order, undo()) == plain && (plain == nil) == (status == .accepted))
    }

    /// As if `undo` were not there: the same driver has reported the step just now.
    @Test func aRepeatedStepIsRepeatedWithUndo() throws {
        var planner = RulesFixture.planner()
        for step in [JobStatus.enRoute, .loading] {
            var order = arrived()
            order.assignment.status = step
            let last = AuditEntry(
                at: RulesFixture.now - 5_000, actor: RulesFixture.driver.key, action: "progress", subject: .order("ORD-1"),
                correlationID: "c", after: AuditEntry.State(status: step, driverID: "42"))
            var report = ProgressReport(step: step)
            report.isUndo = true
            let plan = try planner.progress(report, of: order, after: last, RulesFixture.context(by: RulesFixture.driver))
            #expect(plan.isRepetition && plan.order == nil)
        }
    }

    @Test func unknownOrdersAndOtherVersions() {
        var planner = RulesFixture.planner()
        let unknown = ruleError { () throws(RuleError) in
            try planner.correctArrival("X", of: nil, reason: nil, RulesFixture.context())
        }
        #expect(unknown == RuleError(.unknownOrder, "X"))
        for status in [JobStatus.arrived, .loading] {
            var order = arrived()
            order.assignment.status = status
            let stale = ruleError { [order] () throws(RuleError) in
                try planner.correctArrival("ORD-1", of: order, reason: nil, RulesFixture.context(expectedVersion: 4))
            }
            #expect(stale == RuleError(.wrongVersion, "Order ORD-1", "5", "4"))
        }
    }

    /// By the receipt of the arrival, which a position may have shown long before.
    @Test(arguments: [(10, 599_999, true), (10, 600_000, false), (0, 0, false), (1, 59_999, true), (1, 60_000, false)])
    func aDriverHasSomeMinutes(_ minutes: Int, _ age: Int64, _ isAllowed: Bool) {
        let refused = error(of: arrived(), undo(), ArrivalHistory(receivedAt: RulesFixture.now - age), undoMinutes: minutes)
        #expect(refused == (isAllowed ? nil : RuleError(.oldArrival, "\(minutes)")))
    }

    @Test func withoutALogTheArrivalCounts() {
        #expect(error(of: arrived(), undo())?.kind == .conflict)
        var fresh = arrived()
        fresh.trip.arrivedAt = RulesFixture.now - 599_999
        #expect(error(of: fresh, undo()) == nil)
        fresh.trip.arrivedAt = nil
        #expect(
            error(of: fresh, undo()) == RuleError(.oldArrival, "10"), "of unknown time")
    }

    @Test(arguments: [(0, nil), (1, nil), (2, "The arrival was taken back twice"), (3, "The arrival was taken back twice")])
    func aDriverTakesItBackTwice(_ count: Int, _ text: String?) {
        let history = ArrivalHistory(receivedAt: RulesFixture.now, undoCount: count)
        #expect(error(of: arrived(), undo(), history)?.text == text)
    }

    @Test func withoutUndoTheStepIsAsBefore() {
        var report = undo()
        report.isUndo = false
        #expect(
            error(of: arrived(), report)?.text == "Cannot transition from arrived to en_route. Must go to loading first.")
        var arriving = ProgressReport(step: .loading)
        arriving.isUndo = true
        #expect(error(of: arrived(), arriving) == nil, "undo concerns en_route only")
    }

    /// Apps repeat requests whose responses got lost.
    @Test func aRepetitionGetsTheFirstAnswer() throws {
        var planner = RulesFixture.planner()
        let context = RulesFixture.context(by: RulesFixture.driver)
        var order = arrived()
        order.trip.arrivedAt = RulesFixture.now
        let first = try planner.progress(undo(), of: order, context)
        let entry = try #require(first.audit)
        let again = try planner.progress(undo(), of: first.order, after: entry, context)
        #expect(again.isRepetition && again.response == first.response && again.order == nil)
        // A plain report is none.
        #expect(error(of: try #require(first.order), ProgressReport(step: .enRoute), after: entry)?.kind == .invalid)
    }

    // MARK: Steps of the gateway

    private func plan(_ kind: TripStep.Kind, of order: Order, correctedAt: Int64? = nil) throws -> DispatchPlan? {
        var planner = RulesFixture.planner()
        let step = TripStep(
            orderCode: "ORD-1", driverID: "42", startedAt: try #require(order.trip.startedAt), correctedAt: correctedAt, kind)
        return try planner.plan(step, of: order, RulesFixture.context(by: RulesFixture.driver))
    }

    private func corrected(at time: Int64 = RulesFixture.now - 60_000) -> Order {
        var order = arrived()
        order.assignment.status = .enRoute
        (order.trip.arrivedAt, order.trip.correctedAt) = (nil, time)
        return order
    }

    @Test func anArrivalThatWasDueBeforeTheCorrectionIsDropped() throws {
        let time = RulesFixture.now - 60_000
        func arrive(at recordedAt: Int64) -> TripStep.Kind {
            .arrive(at: Position(latitude: 50, longitude: 8, recordedAt: recordedAt))
        }
        #expect(try plan(arrive(at: time + 1), of: corrected()) == nil, "proposed before")
        #expect(try plan(arrive(at: time), of: corrected(), correctedAt: time) == nil, "recorded before")
        let again = try plan(arrive(at: time + 1), of: corrected(), correctedAt: time)
        #expect(again?.order?.assignment.status == .arrived && again?.order?.trip.arrivedAt == time + 1)
        #expect(try plan(.tellNearby(etaMinutes: 1), of: corrected()) == nil)
    }

    @Test func thatTheDriverHasLeftIsRecordedOnce() throws {
        let time = RulesFixture.now - 60_000
        let left = try #require(try plan(.leave(at: time + 5), of: corrected(), correctedAt: time)?.order)
        #expect(left.trip.leftAt == time + 5 && left.assignment == corrected().assignment)
        #expect(try plan(.leave(at: time + 9), of: left, correctedAt: time) == nil)
        #expect(try plan(.leave(at: time), of: arrived()) == nil)
    }

    @Test func anArrivalBetweenTwoFixesIsNamed() throws {
        var order = corrected()
        order.trip.correctedAt = nil
        let place = Position(latitude: 50 + 99.96 / 111_195.08, longitude: 8, recordedAt: RulesFixture.now - 5)
        let plan = try plan(.arrive(at: place, isBetween: true), of: order)
        #expect(plan?.audit?.detailsText?.contains(#""distanceMetres":100.0,"between":true}"#) == true)
        #expect(plan?.order?.trip.isArrivedByPosition == true)
    }
}
