import Access
import Fleet
import Testing

@Suite struct AcceptanceTests {
    private static let context = RulesFixture.context(by: RulesFixture.driver)
    /// The only statuses that a route can have.
    private static let routeStatuses: [JobStatus] = [.available, .assigned, .accepted, .cancelled]

    /// - Parameter driver: the order's driver; nil: none. Driver 42 accepts the order.
    @Test(arguments: JobStatus.allCases, ["42", "43", nil])
    func acceptingAnOrderHasTheExpectedResultInEveryStatus(_ status: JobStatus, _ driver: String?) throws {
        var planner = RulesFixture.planner()
        let order = RulesFixture.order(status, driver: driver, name: driver == nil ? nil : "Stored")
        if status.isFinal || driver == "43" {
            let error = ruleError { () throws(RuleError) in try planner.accept(order: order, Self.context) }
            let text =
                status.isFinal
                ? "Order ORD-1 is \(status.rawValue)" : "This job has already been accepted by another driver"
            #expect(error?.kind == .conflict && error?.text == text)
            return
        }
        let plan = try planner.accept(order: order, Self.context)
        if driver == "42", status != .available, status != .assigned {
            #expect(plan.order == nil && plan.audit == nil && plan.notifications.isEmpty)
            #expect(plan.responseText.hasPrefix(#"{"success":true,"message":"Job already accepted","data":{"order":{"#))
            #expect(plan.responseText.hasSuffix(#"},"notificationIds":[]},"correlationId":"c-1"}"#))
            return
        }
        var expected = order
        expected.assignment = Assignment(
            status: .accepted, driver: .init("42", driver == nil ? "Dan Driver" : "Stored"), version: 6)
        #expect(plan.order == expected)
        let claimed = driver == nil ? ["admin-channel job-assigned", "admin-channel order-assigned"] : []
        let accepted = ["admin-channel job-accepted", "booking-REF-1 job-accepted", "booking-REF-1 driver-assigned"]
        #expect(plan.published == claimed + accepted)
        #expect(plan.responseText.contains(#""message":"Job accepted successfully""#))
    }

    /// - Parameter driver: the route's driver; nil: none. Driver 42 accepts the route.
    @Test(arguments: routeStatuses, ["42", "43", nil])
    func acceptingARouteHasTheExpectedResultInEveryStatus(_ status: JobStatus, _ driver: String?) throws {
        var planner = RulesFixture.planner()
        let route = RulesFixture.route(status, driver: driver, name: driver == nil ? nil : "Stored")
        if status.isFinal || driver == "43" {
            let error = ruleError { () throws(RuleError) in try planner.accept(route: route, Self.context) }
            let text =
                status.isFinal ? "Route R-1 is cancelled" : "This route has already been accepted by another driver"
            #expect(error?.kind == .conflict && error?.text == text)
            return
        }
        let plan = try planner.accept(route: route, Self.context)
        if driver == "42", status == .accepted {
            #expect(plan.route == nil && plan.audit == nil && plan.notifications.isEmpty)
            #expect(plan.responseText.contains(#""message":"Route already accepted""#))
            return
        }
        var expected = route
        expected.assignment = Assignment(
            status: .accepted, driver: .init("42", driver == nil ? "Dan Driver" : "Stored"), version: 6)
        #expect(plan.route == expected)
        let claimed = driver == nil ? ["admin-channel route-assigned"] : []
        #expect(plan.published == claimed + ["admin-channel route-accepted"])
    }

    @Test func unknownOrdersAndRoutesAreNotFound() {
        var planner = RulesFixture.planner()
        let job = ruleError { () throws(RuleError) in try planner.accept(order: nil, Self.context) }
        #expect(job?.kind == .unknown && job?.text == "Job not found")
        let route = ruleError { () throws(RuleError) in try planner.accept(route: nil, Self.context) }
        #expect(route?.kind == .unknown && route?.text == "Route not found")
    }

    /// Swift's `==` considers the Kelvin sign (U+212A) and the letter K equal. If ids were compared with `==`, the
    /// driver with the other id could accept the job.
    @Test func comparesDriverIDsAsBytes() throws {
        var planner = RulesFixture.planner()
        let other = RulesFixture.context(by: Identity(role: .driver, id: "\u{212A}"))
        let assigned = RulesFixture.order(.assigned, driver: "K")
        #expect(ruleError { () throws(RuleError) in try planner.accept(order: assigned, other) }?.kind == .conflict)
        let progress = ruleError { () throws(RuleError) in
            try planner.progress(ProgressReport(step: .enRoute), of: RulesFixture.order(.accepted, driver: "K"), other)
        }
        #expect(progress?.kind == .forbidden)
    }

    @Test func eventsContainTheNameOfTheTokenOrElseOfTheAssignment() throws {
        var planner = RulesFixture.planner()
        let nameless = RulesFixture.context(by: Identity(role: .driver, id: "42"))
        let order = RulesFixture.order(.assigned, driver: "42", name: "Stored")
        let byToken = try planner.accept(order: order, Self.context)
        #expect(try member("driverName", of: byToken.notifications[0].data) == #""Dan Driver""#)
        let byAssignment = try planner.accept(order: order, nameless)
        #expect(try member("driverName", of: byAssignment.notifications[0].data) == #""Stored""#)
        let claimed = try planner.accept(order: RulesFixture.order(), nameless)
        #expect(try claimed.notifications.allSatisfy { try member("driverName", of: $0.data) == "null" })
        #expect(claimed.order?.assignment.driver == .init("42", nil))
        let enRoute = RulesFixture.order(.enRoute, driver: "42", name: "Stored")
        for (context, name) in [(Self.context, "Dan Driver"), (nameless, "Stored")] {
            let arrived = try planner.progress(ProgressReport(step: .arrived), of: enRoute, context)
            let names = try arrived.notifications.map { try member("driverName", of: $0.data) }
            #expect(names == ["\"\(name)\"", "\"\(name)\"", "\"Stored\""], "the arrival names the order's driver")
        }
        let unnamed = RulesFixture.order(.enRoute, driver: "42")
        let arrived = try planner.progress(ProgressReport(step: .arrived), of: unnamed, Self.context)
        #expect(try member("driverName", of: arrived.notifications[2].data) == #""Dan Driver""#)
    }

    @Test func rejectsAnExpectedVersionThatDiffers() {
        var planner = RulesFixture.planner()
        let stale = RulesFixture.context(by: RulesFixture.driver, expectedVersion: 4)
        let job = ruleError { () throws(RuleError) in try planner.accept(order: RulesFixture.order(), stale) }
        #expect(job == RuleError(.wrongVersion, "Order ORD-1", "5", "4"))
        let route = ruleError { () throws(RuleError) in try planner.accept(route: RulesFixture.route(), stale) }
        #expect(route == RuleError(.wrongVersion, "Route R-1", "5", "4"))
    }
}
