import FleetRules
import Testing

@Suite struct RouteActionTests {
    enum Outcome: Sendable {
        case done(JobStatus?, driver: String?, name: String?, [String])
        case refused(RuleError.Kind, String)
    }

    private static let assigned7 = ["driver-7 route-assigned", "admin-channel route-assigned"]
    private static let nobody = "Route R-1 has no driver"
    private static let required = "driverId is required"

    private static func dropRemoved(_ driver: String) -> [String] {
        ["driver-\(driver) drop-removed", "driver-\(driver) schedule-updated", "admin-channel drop-removed"]
    }

    private static func told(_ driver: String, _ event: String) -> [String] {
        ["driver-\(driver) \(event)", "admin-channel \(event)"]
    }

    /// What comes of an action on a route that is not cancelled.
    private func expected(_ action: RouteAction.Kind, _ driver: String?, _ named: String?) -> Outcome {
        switch (action, driver, named) {
        case (.assign, _, nil): .refused(.invalid, Self.required)
        case (.assign, nil, _): .done(.assigned, driver: "7", name: "Said", Self.assigned7)
        case (.assign, "42", "42"): .done(nil, driver: "42", name: "Said", [])
        case (.assign, _, _):
            .done(.assigned, driver: "7", name: "Said", ["driver-42 route-unassigned"] + Self.assigned7)
        case (.unassign, nil, nil): .refused(.conflict, Self.nobody)
        case (.unassign, nil, _): .done(.available, driver: nil, name: nil, Self.told("7", "route-unassigned"))
        case (.unassign, _, _): .done(.available, driver: nil, name: nil, Self.told("42", "route-unassigned"))
        case (.cancel, nil, nil): .done(.cancelled, driver: nil, name: nil, ["admin-channel route-cancelled"])
        case (.cancel, nil, _): .done(.cancelled, driver: nil, name: nil, Self.told("7", "route-cancelled"))
        case (.cancel, _, _): .done(.cancelled, driver: "42", name: "Stored", Self.told("42", "route-cancelled"))
        case (.removeDrop, nil, nil): .done(nil, driver: nil, name: nil, ["admin-channel drop-removed"])
        case (.removeDrop, nil, _): .done(nil, driver: nil, name: nil, Self.dropRemoved("7"))
        case (.removeDrop, _, _): .done(nil, driver: "42", name: "Stored", Self.dropRemoved("42"))
        case (.update, _, _): .done(nil, driver: driver, name: driver == nil ? nil : "Stored", [])
        }
    }

    @Test(arguments: JobStatus.allCases, [RouteAction.Kind.assign, .unassign, .cancel, .removeDrop("D-9"), .update])
    func everyActionInEveryState(_ status: JobStatus, _ action: RouteAction.Kind) throws {
        for (driver, named) in [(nil, nil), (nil, "7"), ("42", nil), ("42", "7"), ("42", "42")] as [(String?, String?)] {
            var rules = RulesFixture.rulebook()
            let route = RulesFixture.route(status, driver: driver, name: driver == nil ? nil : "Stored")
            var deed = RulesFixture.routeDeed(action, driver: named, name: "Said", reason: "why")
            deed.changes.routeNumber = .set("N99")
            var outcome = expected(action, driver, named)
            if status.isFinal, action != .update, action != .assign || named != nil {
                outcome = .refused(.conflict, "Route R-1 is \(status.rawValue)")
            }
            switch outcome {
            case .refused(let kind, let text):
                let refused = refusal { () throws(RuleError) in try rules.plan(deed, on: route, RulesFixture.occasion()) }
                #expect(refused == RuleError(kind, text))
            case .done(let after, let driver, let name, let said):
                let decision = try rules.plan(deed, on: route, RulesFixture.occasion())
                var stored = route
                (stored.status, stored.driverID, stored.driverName) = (after ?? status, driver, name)
                (stored.routeNumber, stored.version) = ("N99", 6)
                #expect(decision.route == stored)
                #expect(decision.said == said)
                #expect(decision.audit?.after == .init(status: stored.status, driverID: driver))
            }
        }
    }

    @Test func anUnknownRouteIsCreatedUnlessRefused() throws {
        var rules = RulesFixture.rulebook()
        let created = try rules.plan(RulesFixture.routeDeed(.removeDrop("D-9")), on: nil, RulesFixture.occasion())
        #expect(created.route?.version == 1 && created.audit?.before == nil)
        #expect(created.notifications[0].text.contains(#""routeId":"R-1","routeNumber":null,"dropId":"D-9","driverId":null"#))
        #expect(
            refusal { () throws(RuleError) in try rules.plan(RulesFixture.routeDeed(.unassign), on: nil, RulesFixture.occasion())
            } != nil)
    }

    @Test func thePresentDriverAgainIsNoNews() throws {
        var rules = RulesFixture.rulebook()
        let route = RulesFixture.route(.accepted, driver: "42", name: "Dan")
        let decision = try rules.plan(RulesFixture.routeDeed(.assign, driver: "42"), on: route, RulesFixture.occasion())
        #expect(decision.route == nil && decision.audit == nil && decision.notifications.isEmpty)
        #expect(decision.answerText.contains("already assigned"))
    }

    @Test func anotherVersionIsAConflictThatNamesBoth() {
        var rules = RulesFixture.rulebook()
        for (route, version) in [(RulesFixture.route(), 5), (nil, 0)] {
            let refused = refusal { () throws(RuleError) in
                try rules.plan(RulesFixture.routeDeed(.cancel), on: route, RulesFixture.occasion(expectedVersion: 4))
            }
            #expect(refused == RuleError(.conflict, "Route R-1 has version \(version), not 4"))
        }
    }
}
