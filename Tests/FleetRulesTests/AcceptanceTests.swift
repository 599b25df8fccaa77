import Access
import FleetRules
import Testing

@Suite struct AcceptanceTests {
    private static let occasion = RulesFixture.occasion(by: RulesFixture.driver)
    private static let routeStatuses: [JobStatus] = [.available, .assigned, .accepted, .cancelled]

    @Test(arguments: JobStatus.allCases, ["42", "43", nil])
    func aJobInEveryState(_ status: JobStatus, _ owner: String?) throws {
        var rules = RulesFixture.rulebook()
        let order = RulesFixture.order(status, driver: owner, name: owner == nil ? nil : "Stored")
        if status.isFinal || owner == "43" {
            let refused = refusal { () throws(RuleError) in try rules.acceptJob("ORD-1", on: order, Self.occasion) }
            let text =
                status.isFinal
                ? "Order ORD-1 is \(status.rawValue)" : "This job has already been accepted by another driver"
            #expect(refused == RuleError(.conflict, text))
            return
        }
        let decision = try rules.acceptJob("ORD-1", on: order, Self.occasion)
        if owner == "42", status != .available, status != .assigned {
            #expect(decision.order == nil && decision.audit == nil && decision.notifications.isEmpty)
            #expect(decision.answerText.hasPrefix(#"{"success":true,"message":"Job already accepted","data":{"order":{"#))
            #expect(decision.answerText.hasSuffix(#"},"notificationIds":[]},"correlationId":"c-1"}"#))
            return
        }
        var stored = order
        stored.status = .accepted
        stored.driverID = "42"
        stored.driverName = owner == nil ? "Dan Driver" : "Stored"
        stored.version = 6
        #expect(decision.order == stored)
        let claim = owner == nil ? ["admin-channel job-assigned", "admin-channel order-assigned"] : []
        #expect(decision.said == claim + ["admin-channel job-accepted", "booking-REF-1 job-accepted"])
        #expect(decision.answerText.contains(#""message":"Job accepted successfully""#))
    }

    @Test(arguments: routeStatuses, ["42", "43", nil])
    func aRouteInEveryState(_ status: JobStatus, _ owner: String?) throws {
        var rules = RulesFixture.rulebook()
        let route = RulesFixture.route(status, driver: owner, name: owner == nil ? nil : "Stored")
        if status.isFinal || owner == "43" {
            let refused = refusal { () throws(RuleError) in try rules.acceptRoute("R-1", on: route, Self.occasion) }
            let text =
                status.isFinal ? "Route R-1 is cancelled" : "This route has already been accepted by another driver"
            #expect(refused == RuleError(.conflict, text))
            return
        }
        let decision = try rules.acceptRoute("R-1", on: route, Self.occasion)
        if owner == "42", status == .accepted {
            #expect(decision.route == nil && decision.audit == nil && decision.notifications.isEmpty)
            #expect(decision.answerText.contains(#""message":"Route already accepted""#))
            return
        }
        var stored = route
        (stored.status, stored.driverID, stored.version) = (.accepted, "42", 6)
        stored.driverName = owner == nil ? "Dan Driver" : "Stored"
        #expect(decision.route == stored)
        #expect(decision.said == (owner == nil ? ["admin-channel route-assigned"] : []) + ["admin-channel route-accepted"])
    }

    @Test func whatNobodyKnowsIsNotFound() {
        var rules = RulesFixture.rulebook()
        let job = refusal { () throws(RuleError) in try rules.acceptJob("X", on: nil, Self.occasion) }
        #expect(job == RuleError(.unknown, "Job not found"))
        let route = refusal { () throws(RuleError) in try rules.acceptRoute("X", on: nil, Self.occasion) }
        #expect(route == RuleError(.unknown, "Route not found"))
    }

    /// Swift's == takes the Kelvin sign for a K, and the job would be handed to a stranger.
    @Test func aDriverIsHisBytes() throws {
        var rules = RulesFixture.rulebook()
        let stranger = RulesFixture.occasion(by: Identity(role: .driver, id: "\u{212A}"))
        let owned = RulesFixture.order(.assigned, driver: "K")
        #expect(refusal { () throws(RuleError) in try rules.acceptJob("ORD-1", on: owned, stranger) }?.kind == .conflict)
        let moved = refusal { () throws(RuleError) in
            try rules.progress(ProgressReport(step: .enRoute), "ORD-1", on: RulesFixture.order(.accepted, driver: "K"), stranger)
        }
        #expect(moved?.kind == .forbidden)
    }

    @Test func theNameIsTheDriversOwnElseTheAssignmentsElseNull() throws {
        var rules = RulesFixture.rulebook()
        let nameless = RulesFixture.occasion(by: Identity(role: .driver, id: "42"))
        let order = RulesFixture.order(.assigned, driver: "42", name: "Stored")
        let own = try rules.acceptJob("ORD-1", on: order, Self.occasion)
        #expect(try member("driverName", of: own.notifications[0].data) == #""Dan Driver""#)
        let stored = try rules.acceptJob("ORD-1", on: order, nameless)
        #expect(try member("driverName", of: stored.notifications[0].data) == #""Stored""#)
        let claimed = try rules.acceptJob("ORD-1", on: RulesFixture.order(), nameless)
        #expect(try claimed.notifications.allSatisfy { try member("driverName", of: $0.data) == "null" })
        #expect(claimed.order?.driverName == nil)
        let driving = RulesFixture.order(.enRoute, driver: "42", name: "Stored")
        for (occasion, name) in [(Self.occasion, "Dan Driver"), (nameless, "Stored")] {
            let moved = try rules.progress(ProgressReport(step: .arrived), "ORD-1", on: driving, occasion)
            #expect(moved.notifications.count == 3)
            #expect(try moved.notifications.allSatisfy { try member("driverName", of: $0.data) == "\"\(name)\"" })
        }
    }

    @Test func anotherVersionIsAConflict() {
        var rules = RulesFixture.rulebook()
        let stale = RulesFixture.occasion(by: RulesFixture.driver, expectedVersion: 4)
        let job = refusal { () throws(RuleError) in try rules.acceptJob("ORD-1", on: RulesFixture.order(), stale) }
        #expect(job == RuleError(.conflict, "Order ORD-1 has version 5, not 4"))
        let route = refusal { () throws(RuleError) in try rules.acceptRoute("R-1", on: RulesFixture.route(), stale) }
        #expect(route == RuleError(.conflict, "Route R-1 has version 5, not 4"))
    }
}
