import Fleet
import Testing

/// The pushed events of an action, and the audience of each push.
@Suite struct PushIntentTests {
    /// The push rules of the built-in catalogue.
    private static let rules: NotificationRules = {
        func rule(_ push: NotificationRules.Rule.Push) -> NotificationRules.Rule {
            NotificationRules.Rule(lifetimeSeconds: 60, collapsesByJob: true, push: push)
        }
        let personal = [
            "job-assigned", "job-removed", "order-removed", "job-cancelled", "route-assigned", "route-unassigned",
            "route-cancelled", "drop-removed", "driver-arrival", "driver-removed", "NEW_BATCH_AVAILABLE",
        ]
        let never = ["job-removed-from-list", "job-available-again", "schedule-updated", "tracking-stopped"]
        return NotificationRules(
            rules: Dictionary(uniqueKeysWithValues: personal.map { ($0, rule(.personal)) } + never.map { ($0, rule([])) }))
    }()

    /// Describes each push as `event > audience, entity`. The entity is what the app shows when the user taps the push;
    /// `-` if there is none.
    private func pushed(_ plan: DispatchPlan) -> [String] {
        plan.pushes.map { push in
            let event = plan.notifications.first { $0.id == push.notificationID }?.event ?? "-"
            return "\(event) > \(push.audience), \(push.entity.map { "\($0)" } ?? "-")"
        }
    }

    private func pushed(_ action: OrderAction, for order: Order?, _ rules: NotificationRules = rules) throws -> [String] {
        var planner = RulesFixture.planner()
        return pushed(try planner.plan(action, for: order, RulesFixture.context(rules: rules)))
    }

    /// - Parameter driver: the stored driver; nil: none.
    @Test(arguments: [
        (OrderAction.Kind.assign(to: "9"), nil as String?, ["job-assigned > driver(\"9\"), job(\"B-1\")"]),
        (.assign(to: "9"), "42", ["job-removed > driver(\"42\"), job(\"B-1\")", "job-assigned > driver(\"9\"), job(\"B-1\")"]),
        (.unassign, "42", ["order-removed > driver(\"42\"), job(\"B-1\")"]),
        (.cancel, "42", ["job-cancelled > driver(\"42\"), job(\"B-1\")"]),
        (.cancel, nil, []),
        (
            .removeDriver, "42",
            ["job-removed > driver(\"42\"), job(\"B-1\")", "driver-removed > customer(\"c7\"), job(\"B-1\")"]
        ),
        (.update, "42", []),
    ])
    func pushesOnlyTheFirstEventForEachRecipient(
        _ kind: OrderAction.Kind, _ driver: String?, _ expected: [String]
    ) throws {
        let action = RulesFixture.orderAction(kind)
        #expect(try pushed(action, for: RulesFixture.order(driver == nil ? .available : .assigned, driver: driver)) == expected)
    }

    @Test func pushesOfRouteActionsHaveTheRouteAsEntity() throws {
        var planner = RulesFixture.planner()
        func pushed(_ kind: RouteAction.Kind) throws -> [String] {
            let action = RulesFixture.routeAction(kind, fallback: "9")
            let plan = try planner.plan(
                action, for: RulesFixture.route(.assigned, driver: "42"), RulesFixture.context(rules: Self.rules))
            return self.pushed(plan)
        }
        #expect(
            try pushed(.assign(to: "9")) == [
                "route-unassigned > driver(\"42\"), route(\"R-1\")", "route-assigned > driver(\"9\"), route(\"R-1\")",
            ])
        #expect(try pushed(.unassign) == ["route-unassigned > driver(\"42\"), route(\"R-1\")"])
        #expect(try pushed(.cancel) == ["route-cancelled > driver(\"42\"), route(\"R-1\")"])
        #expect(try pushed(.removeDrop("D-1")) == ["drop-removed > driver(\"42\"), route(\"R-1\")"])
    }

    @Test func pushesAnArrivalToTheCustomerOrElseTheBooking() throws {
        func pushesOfArrival(_ change: (inout Order) -> Void) throws -> [String] {
            var order = RulesFixture.order(.enRoute, driver: "42")
            change(&order)
            var planner = RulesFixture.planner()
            let context = RulesFixture.context(by: RulesFixture.driver, rules: Self.rules)
            return pushed(try planner.progress(ProgressReport(step: .arrived), of: order, context))
        }
        #expect(try pushesOfArrival { _ in } == ["driver-arrival > customer(\"c7\"), job(\"B-1\")"])
        #expect(try pushesOfArrival { $0.customerID = nil } == ["driver-arrival > booking(\"REF-1\"), job(\"B-1\")"])
        #expect(
            try pushesOfArrival {
                $0.customerID = nil
                $0.bookingID = nil
                $0.bookingReference = nil
            } == ["driver-arrival > booking(\"ORD-1\"), job(\"ORD-1\")"])
    }

    /// Both events are for the customer, and `tracking-started` comes first.
    @Test func pushesTheMomentOfATripInsteadOfTheEventBeforeIt() throws {
        var rules = Self.rules
        for event in ["tracking-started", "driver-en-route"] {
            rules.rules[event] = .init(lifetimeSeconds: 60, collapsesByJob: true, push: .personal)
        }
        var planner = RulesFixture.planner()
        let context = RulesFixture.context(by: RulesFixture.driver, rules: rules)
        let order = RulesFixture.order(.accepted, driver: "42")
        let plan = try planner.progress(ProgressReport(step: .enRoute), of: order, context)
        #expect(plan.notifications.map(\.event).filter { rules.rules[$0] != nil } == ["tracking-started", "driver-en-route"])
        #expect(pushed(plan) == ["driver-en-route > customer(\"c7\"), job(\"B-1\")"])
    }

    @Test func pushesToAllDriversOnlyIfTheRuleAllowsIt() throws {
        var rules = Self.rules
        rules.rules["job-available-again"] = .init(lifetimeSeconds: 60, collapsesByJob: false, push: .broadcast)
        let order = RulesFixture.order(.assigned, driver: "42")
        #expect(
            try pushed(RulesFixture.orderAction(.unassign), for: order, rules) == [
                "order-removed > driver(\"42\"), job(\"B-1\")",
                "job-available-again > everyDriver(except: Optional(\"driver:42\")), job(\"B-1\")",
            ])
        rules.rules["job-cancelled"] = .init(lifetimeSeconds: 60, collapsesByJob: false, push: [.personal, .broadcast])
        #expect(
            try pushed(RulesFixture.orderAction(.cancel), for: RulesFixture.order(), rules) == [
                "job-cancelled > everyDriver(except: nil), job(\"B-1\")"
            ])
        #expect(
            try pushed(RulesFixture.orderAction(.cancel), for: order, rules) == [
                "job-cancelled > driver(\"42\"), job(\"B-1\")",
                "job-cancelled > everyDriver(except: Optional(\"driver:42\")), job(\"B-1\")",
            ])
    }

    /// `job-cancelled` is published on the driver's own channel and on drivers-channel. A push mode for the one must
    /// not wake the phones of all drivers.
    @Test(arguments: NotificationCatalogue.PushMode.allCases, [false, true])
    func pushModeAndBroadcastAreIndependent(_ mode: NotificationCatalogue.PushMode, _ broadcast: Bool) throws {
        var catalogue = NotificationCatalogue.builtIn
        catalogue.update("job-cancelled") {
            $0.push = mode
            $0.broadcast = broadcast
        }
        let rules = NotificationRules(catalogue, mode: .mirror, eventBytesMax: 10_240)
        let order = RulesFixture.order(.assigned, driver: "42")
        let pushed = try pushed(RulesFixture.orderAction(.cancel), for: order, rules)
        #expect(pushed.contains("job-cancelled > driver(\"42\"), job(\"B-1\")") == (mode != .off))
        #expect(pushed.contains { $0.contains("everyDriver") } == broadcast)
    }

    @Test func neverPushesToDispatchers() throws {
        var rules = Self.rules
        rules.rules["order-assigned"] = .init(lifetimeSeconds: 60, collapsesByJob: false, push: [.personal, .broadcast])
        #expect(try pushed(RulesFixture.orderAction(.assign(to: "9")), for: nil, rules).count == 1)
    }

    @Test func doesNotPushEventsWithoutARule() throws {
        #expect(try pushed(RulesFixture.orderAction(.assign(to: "9")), for: nil, NotificationRules()).isEmpty)
    }

    @Test func pushesAnnouncementsToTheirAudience() throws {
        func pushesOfAnnouncement(_ audience: Announcement.Audience) throws -> [String] {
            var planner = RulesFixture.planner()
            let announcement = Announcement(type: "NEW_BATCH_AVAILABLE", audience: audience, data: Array("{}".utf8))
            return pushed(try planner.announce(announcement, RulesFixture.context(rules: Self.rules)))
        }
        #expect(
            try pushesOfAnnouncement(.drivers(["1", "2", "1"])) == [
                "new-batch-available > driver(\"1\"), -", "new-batch-available > driver(\"2\"), -",
            ])
        #expect(try pushesOfAnnouncement(.customer("c7")) == ["new-batch-available > customer(\"c7\"), -"])
        #expect(try pushesOfAnnouncement(.everyDriver) == ["new-batch-available > everyDriver(except: nil), -"])
    }
}
