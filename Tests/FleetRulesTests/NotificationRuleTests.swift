import Fleet
import Testing

@Suite struct NotificationRuleTests {
    private static func rules(_ rules: [String: NotificationRules.Rule]) -> NotificationRules { NotificationRules(rules: rules) }
    private static let hour = NotificationRules.Rule(lifetimeSeconds: 3600, collapsesByJob: false)
    private static let minute = NotificationRules.Rule(lifetimeSeconds: 60, collapsesByJob: true)

    private func assigned(_ rules: [String: NotificationRules.Rule]) throws -> [Notification] {
        var planner = RulesFixture.planner()
        let context = RulesFixture.context(rules: Self.rules(rules))
        return try planner.plan(RulesFixture.orderAction(.assign(to: "42")), for: RulesFixture.order(), context).notifications
    }

    @Test func eventsWithoutARuleExpireAfterOneDayAndDoNotCollapse() throws {
        for notification in try assigned([:]) {
            #expect(notification.createdAt == RulesFixture.now && notification.expiresAt == RulesFixture.now + 86_400_000)
            #expect(notification.collapseKey == notification.id)
        }
    }

    @Test func prefersTheRuleOfTheEventToThatOfItsType() throws {
        let byType = try assigned(["new_job": Self.hour])
        #expect(byType.map { $0.expiresAt - RulesFixture.now } == [3_600_000, 3_600_000, 86_400_000])
        let byEvent = try assigned(["new_job": Self.hour, "job-assigned": Self.minute, "job_update": Self.hour])
        #expect(byEvent.map { $0.expiresAt - RulesFixture.now } == [60_000, 60_000, 3_600_000])
        #expect(byEvent.map(\.collapseKey) == ["order:ORD-1", "order:ORD-1", byEvent[2].id])
    }

    @Test func routesCollapseByRoute() throws {
        var planner = RulesFixture.planner()
        let context = RulesFixture.context(rules: Self.rules(["route_update": Self.minute]))
        let notifications = try planner.plan(RulesFixture.routeAction(.cancel), for: RulesFixture.route(), context).notifications
        #expect(notifications.map(\.collapseKey) == ["route:R-1"])
    }

    @Test func announcementsUseTheRuleOfTheirType() throws {
        var planner = RulesFixture.planner()
        func lifetime(_ type: String, _ rules: [String: NotificationRules.Rule]) throws -> Int64 {
            let announcement = Announcement(type: type, audience: .everyDriver, data: Array("{}".utf8))
            let notification = try planner.announce(announcement, RulesFixture.context(rules: Self.rules(rules))).notifications[0]
            #expect(notification.collapseKey == notification.id)
            return notification.expiresAt - RulesFixture.now
        }
        #expect(try lifetime("NEW_BATCH_AVAILABLE", ["NEW_BATCH_AVAILABLE": Self.hour]) == 3_600_000)
        #expect(try lifetime("NEW_BATCH_AVAILABLE", ["new_job": Self.hour]) == 86_400_000)
        #expect(try lifetime("driver_arrival", ["driver-arrival": Self.minute, "driver_arrival": Self.hour]) == 60_000)
        #expect(try lifetime("job-assigned", ["new_job": Self.hour]) == 3_600_000)
    }
}
