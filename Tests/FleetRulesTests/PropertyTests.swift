import Access
import Fleet
import JSON
import Primitives
import TestSupport
import Testing

/// Checks invariants of every plan in random histories of one order and one route, with arbitrary texts.
@Suite struct PropertyTests {
    /// The pieces of which random texts consist. Many of them must be escaped in JSON, or show whether texts keep their
    /// bytes.
    private static let pieces = [
        "\"", "\\", "\n", "\u{0}", "\u{1F}", "\u{7F}", "é", "e\u{301}", "😀", "\u{FFFD}", "\u{2028}", "</script>", "{", "}", ",",
        "null", "a", " ", "日本", "\u{10FFFF}", "'", "\\u0000",
    ]

    private func text(_ random: inout SplitMix) -> String? {
        if Int.random(in: 0..<6, using: &random) == 0 { return nil }
        return (0..<Int.random(in: 0..<12, using: &random)).map { _ in Self.pieces.randomElement(using: &random)! }.joined()
    }

    private func change(_ random: inout SplitMix) -> Change<String> {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: .clear
        case 1: text(&random).map { .set($0) } ?? .keep
        default: .keep
        }
    }

    private func orderAction(_ random: inout SplitMix) -> OrderAction {
        let driver = Assignment.Driver(id: Identifier(["7", "42"].randomElement(using: &random)!), name: text(&random))
        let kinds: [OrderAction.Kind] = [.assign(driver), .unassign, .removeDriver, .cancel, .update]
        var action = OrderAction(code: "ORD-1", kinds.randomElement(using: &random)!)
        action.fallbackDriver = [driver.id, nil].randomElement(using: &random)!
        action.reason = text(&random)
        action.changes.customerName = change(&random)
        action.changes.pickupAddress = change(&random)
        action.changes.scheduledAt = change(&random)
        action.changes.totalGBP = .set(JSONNumber(text: ["1", "-0.50", "1e400"].randomElement(using: &random)!))
        return action
    }

    private func routeAction(_ random: inout SplitMix) -> RouteAction {
        let driver = Assignment.Driver(id: Identifier(["7", "42"].randomElement(using: &random)!), name: text(&random))
        let kinds: [RouteAction.Kind] = [.assign(driver), .unassign, .cancel, .removeDrop("D-9"), .update]
        var action = RouteAction(id: "R-1", kinds.randomElement(using: &random)!)
        action.fallbackDriver = [driver.id, nil].randomElement(using: &random)!
        action.reason = text(&random)
        action.changes.routeNumber = change(&random)
        return action
    }

    private func act(
        _ planner: inout DispatchPlanner, _ order: Order?, _ route: Route?, _ context: CommandContext, _ random: inout SplitMix
    ) throws(RuleError) -> DispatchPlan {
        let driver = Identity(role: .driver, id: "42", name: text(&random))
        let driverContext = CommandContext(
            sender: .person(driver), now: context.now, correlationID: context.correlationID, rules: context.rules)
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: return try planner.plan(orderAction(&random), for: order, context)
        case 2: return try planner.plan(routeAction(&random), for: route, context)
        case 3: return try planner.accept(order: order, driverContext)
        case 4: return try planner.accept(route: route, driverContext)
        default:
            var report = ProgressReport(step: order?.assignment.status.next ?? .arrived)
            report.notes = text(&random)
            return try planner.progress(report, of: order, driverContext)
        }
    }

    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func invariantsHold(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var planner = DispatchPlanner()
        var order: Order?
        var route: Route?
        var lastID = ""
        for _ in 0..<100 {
            // The clock may step back. A new order replaces one that has ended.
            let now = RulesFixture.now + Int64.random(in: -5...5, using: &random)
            let context = CommandContext(sender: .person(RulesFixture.admin), now: now, correlationID: text(&random) ?? "c")
            if order?.assignment.status.isFinal == true { order = nil }
            if route?.assignment.status.isFinal == true { route = nil }
            guard let plan = try? act(&planner, order, route, context, &random) else { continue }
            #expect(plan.order.map { $0.assignment.version == (order?.assignment.version ?? 0) + 1 } ?? true)
            #expect(plan.route.map { $0.assignment.version == (route?.assignment.version ?? 0) + 1 } ?? true)
            #expect((plan.audit == nil) == (plan.order == nil && plan.route == nil))
            #expect(plan.notifications.isEmpty || plan.audit != nil)
            try check(plan, context, &lastID)
            order = plan.order ?? order
            route = plan.route ?? route
        }
        #expect(lastID > "", "no plan contained a notification")
    }

    /// Checks that all notifications are JSON with increasing ids, and that their fields decode to the order's fields.
    private func check(_ plan: DispatchPlan, _ context: CommandContext, _ lastID: inout String) throws {
        #expect(try member("success", of: Array(plan.responseText.utf8)) == "true")
        if let details = plan.audit?.details { _ = try members(details) }
        for notification in plan.notifications {
            #expect(notification.id > lastID && ULID.isWellFormed(notification.id))
            lastID = notification.id
            #expect(try members(notification.data).map(\.name).suffix(2) == ["notificationId", "correlationId"])
            #expect(try Set(members(notification.data).map(\.name)).count == members(notification.data).count)
            #expect(try string("notificationId", of: notification.data) == notification.id)
            #expect(
                try string("correlationId", of: notification.data).map { Array($0.utf8) } == Array(context.correlationID.utf8))
            guard notification.channel != "admin-channel", notification.event == "job-assigned", let order = plan.order else {
                continue
            }
            #expect(
                try string("pickupAddress", of: notification.data).map { Array($0.utf8) }
                    == order.pickupAddress.map { Array($0.utf8) })
            #expect(try member("totalGBP", of: notification.data) == order.totalGBP?.text ?? "null")
        }
    }

    private func string(_ name: String, of json: [UInt8]) throws -> String? {
        try json.withUnsafeBytes { bytes in
            var text: String?
            try JSONReader.object(bytes) { key, value in if key.string == name { text = value.string } }
            return text
        }
    }

    /// JSONReader reads a lone surrogate as U+FFFD.
    @Test func publishesLoneSurrogatesAsReplacementCharacters() throws {
        var planner = RulesFixture.planner()
        let read = try Array(#""a\ud800b""#.utf8).withUnsafeBytes { try JSONReader.value($0).string }
        let action = RulesFixture.orderAction(.unassign, fallback: "42", reason: read)
        let plan = try planner.plan(action, for: nil, RulesFixture.context())
        #expect(try member("reason", of: plan.notifications[0].data) == "\"a\u{FFFD}b\"")
    }
}
