import Access
import FleetRules
import JSON
import Primitives
import TestSupport
import Testing

/// Long random histories of one order and one route: what must hold whatever happens, and whatever texts say.
@Suite struct PropertyTests {
    private static let pieces = [
        "\"", "\\", "\n", "\u{0}", "\u{1F}", "\u{7F}", "é", "e\u{301}", "😀", "\u{FFFD}", "\u{2028}", "</script>", "{", "}", ",",
        "null", "a", " ", "日本", "\u{10FFFF}", "'", "\\u0000",
    ]

    private func text(_ dice: inout SplitMix) -> String? {
        if Int.random(in: 0..<6, using: &dice) == 0 { return nil }
        return (0..<Int.random(in: 0..<12, using: &dice)).map { _ in Self.pieces.randomElement(using: &dice)! }.joined()
    }

    private func change(_ dice: inout SplitMix) -> Change<String> {
        switch Int.random(in: 0..<4, using: &dice) {
        case 0: .clear
        case 1: text(&dice).map { .set($0) } ?? .keep
        default: .keep
        }
    }

    private func orderAction(_ dice: inout SplitMix) -> OrderAction {
        let driver = Assignment.Driver(id: Identifier(["7", "42"].randomElement(using: &dice)!), name: text(&dice))
        let kinds: [OrderAction.Kind] = [.assign(driver), .unassign, .removeDriver, .cancel, .update]
        var action = OrderAction(code: "ORD-1", kinds.randomElement(using: &dice)!)
        action.fallbackDriver = [driver.id, nil].randomElement(using: &dice)!
        action.reason = text(&dice)
        action.changes.customerName = change(&dice)
        action.changes.pickupAddress = change(&dice)
        action.changes.scheduledAt = change(&dice)
        action.changes.totalGBP = .set(JSONNumber(text: ["1", "-0.50", "1e400"].randomElement(using: &dice)!))
        return action
    }

    private func routeAction(_ dice: inout SplitMix) -> RouteAction {
        let driver = Assignment.Driver(id: Identifier(["7", "42"].randomElement(using: &dice)!), name: text(&dice))
        let kinds: [RouteAction.Kind] = [.assign(driver), .unassign, .cancel, .removeDrop("D-9"), .update]
        var action = RouteAction(id: "R-1", kinds.randomElement(using: &dice)!)
        action.fallbackDriver = [driver.id, nil].randomElement(using: &dice)!
        action.reason = text(&dice)
        action.changes.routeNumber = change(&dice)
        return action
    }

    private func act(
        _ planner: inout DispatchPlanner, _ order: Order?, _ route: Route?, _ context: CommandContext, _ dice: inout SplitMix
    ) throws(RuleError) -> DispatchPlan {
        let driver = Identity(role: .driver, id: "42", name: text(&dice))
        let driving = CommandContext(
            actor: driver, now: context.now, correlationID: context.correlationID, rules: context.rules)
        switch Int.random(in: 0..<6, using: &dice) {
        case 0, 1: return try planner.plan(orderAction(&dice), for: order, context)
        case 2: return try planner.plan(routeAction(&dice), for: route, context)
        case 3: return try planner.accept(order: order, driving)
        case 4: return try planner.accept(route: route, driving)
        default:
            var report = ProgressReport(step: order?.assignment.status.next ?? .arrived)
            report.notes = text(&dice)
            return try planner.progress(report, of: order, driving)
        }
    }

    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func whateverHappens(_ seed: UInt64) throws {
        var dice = SplitMix(seed: seed)
        var planner = DispatchPlanner()
        var order: Order?
        var route: Route?
        var lastID = ""
        for _ in 0..<100 {
            // The clock steps back now and then; a cancelled order makes way for a new one.
            let now = RulesFixture.now + Int64.random(in: -5...5, using: &dice)
            let context = CommandContext(actor: RulesFixture.admin, now: now, correlationID: text(&dice) ?? "c")
            if order?.assignment.status.isFinal == true { order = nil }
            if route?.assignment.status.isFinal == true { route = nil }
            guard let plan = try? act(&planner, order, route, context, &dice) else { continue }
            #expect(plan.order.map { $0.assignment.version == (order?.assignment.version ?? 0) + 1 } ?? true)
            #expect(plan.route.map { $0.assignment.version == (route?.assignment.version ?? 0) + 1 } ?? true)
            #expect((plan.audit == nil) == (plan.order == nil && plan.route == nil))
            #expect(plan.notifications.isEmpty || plan.audit != nil)
            try check(plan, context, &lastID)
            order = plan.order ?? order
            route = plan.route ?? route
        }
        #expect(lastID > "", "nothing was ever said")
    }

    /// Everything said is JSON, has an id later than all before it, and reads back as what was meant.
    private func check(_ plan: DispatchPlan, _ context: CommandContext, _ lastID: inout String) throws {
        #expect(try member("success", of: plan.response) == "true")
        if let details = plan.audit?.details { _ = try members(details) }
        for told in plan.notifications {
            #expect(told.id > lastID && ULID.isWellFormed(told.id))
            lastID = told.id
            #expect(try members(told.data).map(\.name).suffix(2) == ["notificationId", "correlationId"])
            #expect(try Set(members(told.data).map(\.name)).count == members(told.data).count)
            #expect(try string("notificationId", of: told.data) == told.id)
            #expect(try string("correlationId", of: told.data).map { Array($0.utf8) } == Array(context.correlationID.utf8))
            guard told.channel != "admin-channel", told.event == "job-assigned", let order = plan.order else { continue }
            #expect(
                try string("pickupAddress", of: told.data).map { Array($0.utf8) } == order.pickupAddress.map { Array($0.utf8) })
            #expect(try member("totalGBP", of: told.data) == order.totalGBP?.text ?? "null")
        }
    }

    private func string(_ name: String, of json: [UInt8]) throws -> String? {
        try json.withUnsafeBytes { bytes in
            var text: String?
            try JSONReader.object(bytes) { key, value in if key.string == name { text = value.string } }
            return text
        }
    }

    /// A lone surrogate in JSON is read as U+FFFD, and goes out as that.
    @Test func loneSurrogatesComeOutAsReplacement() throws {
        var planner = RulesFixture.planner()
        let read = try Array(#""a\ud800b""#.utf8).withUnsafeBytes { try JSONReader.value($0).string }
        let action = RulesFixture.orderAction(.unassign, fallback: "42", reason: read)
        let plan = try planner.plan(action, for: nil, RulesFixture.context())
        #expect(try member("reason", of: plan.notifications[0].data) == "\"a\u{FFFD}b\"")
    }
}
