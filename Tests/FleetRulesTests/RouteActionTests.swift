import Fleet
import Testing

@Suite struct RouteActionTests {
    private enum Expectation {
        /// The status after the action (nil: unchanged), the id and the name of the driver after it (nil: none), and
        /// the published events.
        case planned(JobStatus?, driver: String?, name: String?, [String])
        case rejected(RuleError.Kind, String)
    }

    private static let assigned7 = ["driver-7 route-assigned", "admin-channel route-assigned"]

    private static func dropRemoved(_ driver: String) -> [String] {
        ["driver-\(driver) drop-removed", "driver-\(driver) schedule-updated", "admin-channel drop-removed"]
    }

    private static func toDriverAndAdmin(_ driver: String, _ event: String) -> [String] {
        ["driver-\(driver) \(event)", "admin-channel \(event)"]
    }

    /// The result of an action on a route that is not cancelled, with this stored driver and this fallback driver.
    private func expected(_ kind: RouteAction.Kind, _ driver: String?, _ fallback: String?) -> Expectation {
        switch (kind, driver, fallback) {
        case (.assign, nil, _): .planned(.assigned, driver: "7", name: "New", Self.assigned7)
        case (.assign(let new), _, _) where new.id.text == "42": .planned(nil, driver: "42", name: "New", [])
        case (.assign, _, _):
            .planned(.assigned, driver: "7", name: "New", ["driver-42 route-unassigned"] + Self.assigned7)
        case (.unassign, nil, nil): .rejected(.conflict, "Route R-1 has no driver")
        case (.unassign, nil, _): .planned(.available, driver: nil, name: nil, Self.toDriverAndAdmin("7", "route-unassigned"))
        case (.unassign, _, _): .planned(.available, driver: nil, name: nil, Self.toDriverAndAdmin("42", "route-unassigned"))
        case (.cancel, nil, nil): .planned(.cancelled, driver: nil, name: nil, ["admin-channel route-cancelled"])
        case (.cancel, nil, _): .planned(.cancelled, driver: nil, name: nil, Self.toDriverAndAdmin("7", "route-cancelled"))
        case (.cancel, _, _): .planned(.cancelled, driver: "42", name: "Stored", Self.toDriverAndAdmin("42", "route-cancelled"))
        case (.removeDrop, nil, nil): .planned(nil, driver: nil, name: nil, ["admin-channel drop-removed"])
        case (.removeDrop, nil, _): .planned(nil, driver: nil, name: nil, Self.dropRemoved("7"))
        case (.removeDrop, _, _): .planned(nil, driver: "42", name: "Stored", Self.dropRemoved("42"))
        case (.update, _, _): .planned(nil, driver: driver, name: driver == nil ? nil : "Stored", [])
        }
    }

    private static let kinds: [(kind: RouteAction.Kind, fallbacks: [String?])] = [
        (.assign(to: "7", name: "New"), [nil]), (.unassign, [nil, "7"]), (.cancel, [nil, "7"]),
        (.removeDrop("D-9"), [nil, "7"]), (.update, [nil, "7"]),
    ]

    @Test(arguments: JobStatus.allCases, kinds)
    func hasTheExpectedResultInEveryStatus(_ status: JobStatus, _ row: (kind: RouteAction.Kind, fallbacks: [String?])) throws {
        for driver in [nil, "42"] {
            for fallback in row.fallbacks { try check(row.kind, in: status, driver, fallback) }
        }
    }

    @Test(arguments: JobStatus.allCases) func assigningTheSameDriverHasTheExpectedResult(_ status: JobStatus) throws {
        try check(.assign(to: "42", name: "New"), in: status, "42", nil)
    }

    private func check(
        _ kind: RouteAction.Kind, in status: JobStatus, _ driver: String?, _ fallback: String?
    ) throws {
        var planner = RulesFixture.planner()
        let route = RulesFixture.route(status, driver: driver, name: driver == nil ? nil : "Stored")
        var action = RulesFixture.routeAction(kind, fallback: fallback, reason: "why")
        action.changes.routeNumber = .set("N99")
        var expectation = expected(kind, driver, fallback)
        if status.isFinal, kind != .update {
            expectation = .rejected(.conflict, "Route R-1 is \(status.rawValue)")
        }
        switch expectation {
        case .rejected(let kind, let text):
            let error = ruleError { () throws(RuleError) in try planner.plan(action, for: route, RulesFixture.context()) }
            #expect(error?.kind == kind && error?.text == text)
        case .planned(let after, let driver, let name, let published):
            let plan = try planner.plan(action, for: route, RulesFixture.context())
            var expected = route
            expected.assignment = Assignment(status: after ?? status, driver: .init(driver, name), version: 6)
            expected.routeNumber = "N99"
            #expect(plan.route == expected)
            #expect(plan.published == published)
            #expect(plan.audit?.after == .init(status: after ?? status, driverID: driver))
        }
    }

    @Test func createsAnUnknownRouteUnlessRejected() throws {
        var planner = RulesFixture.planner()
        let plan = try planner.plan(RulesFixture.routeAction(.removeDrop("D-9")), for: nil, RulesFixture.context())
        #expect(plan.route?.assignment.version == 1 && plan.audit?.before == nil)
        #expect(plan.notifications[0].text.contains(#""routeId":"R-1","routeNumber":null,"dropId":"D-9","driverId":null"#))
        let error = ruleError { () throws(RuleError) in
            try planner.plan(RulesFixture.routeAction(.unassign), for: nil, RulesFixture.context())
        }
        #expect(error?.kind == .conflict)
    }

    @Test func assigningTheSameDriverPublishesNothing() throws {
        var planner = RulesFixture.planner()
        let route = RulesFixture.route(.accepted, driver: "42", name: "Dan")
        let plan = try planner.plan(RulesFixture.routeAction(.assign(to: "42")), for: route, RulesFixture.context())
        #expect(plan.route == nil && plan.audit == nil && plan.notifications.isEmpty)
        #expect(plan.responseText.contains("already assigned"))
    }

    @Test func versionConflictNamesBothVersions() {
        var planner = RulesFixture.planner()
        for (route, version) in [(RulesFixture.route(), 5), (nil, 0)] {
            let error = ruleError { () throws(RuleError) in
                try planner.plan(RulesFixture.routeAction(.cancel), for: route, RulesFixture.context(expectedVersion: 4))
            }
            #expect(error == RuleError(.wrongVersion, "Route R-1", "\(version)", "4"))
        }
    }
}
