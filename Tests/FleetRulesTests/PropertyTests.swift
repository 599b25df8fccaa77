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

    private func orderDeed(_ dice: inout SplitMix) -> OrderAction {
        var deed = OrderAction(code: "ORD-1", action: OrderAction.Kind.allCases.randomElement(using: &dice)!)
        deed.driverID = ["7", "42", nil].randomElement(using: &dice)!
        deed.driverName = text(&dice)
        deed.reason = text(&dice)
        deed.changes.customerName = change(&dice)
        deed.changes.pickupAddress = change(&dice)
        deed.changes.scheduledAt = change(&dice)
        deed.changes.totalGBP = .set(JSONNumber(text: ["1", "-0.50", "1e400"].randomElement(using: &dice)!))
        return deed
    }

    private func routeDeed(_ dice: inout SplitMix) -> RouteAction {
        let actions: [RouteAction.Kind] = [.assign, .unassign, .cancel, .removeDrop("D-9"), .update]
        var deed = RouteAction(id: "R-1", action: actions.randomElement(using: &dice)!)
        deed.driverID = ["7", "42", nil].randomElement(using: &dice)!
        deed.driverName = text(&dice)
        deed.reason = text(&dice)
        deed.changes.routeNumber = change(&dice)
        return deed
    }

    private func act(
        _ rules: inout DispatchPlanner, _ order: Order?, _ route: Route?, _ occasion: CommandContext, _ dice: inout SplitMix
    ) throws(RuleError) -> DispatchPlan {
        let driver = Identity(role: .driver, id: "42", name: text(&dice))
        let driving = CommandContext(
            actor: driver, now: occasion.now, correlationID: occasion.correlationID, rules: occasion.rules)
        switch Int.random(in: 0..<6, using: &dice) {
        case 0, 1: return try rules.plan(orderDeed(&dice), on: order, occasion)
        case 2: return try rules.plan(routeDeed(&dice), on: route, occasion)
        case 3: return try rules.acceptJob("ORD-1", on: order, driving)
        case 4: return try rules.acceptRoute("R-1", on: route, driving)
        default:
            var report = ProgressReport(step: order?.status.next ?? .arrived)
            report.notes = text(&dice)
            return try rules.progress(report, "ORD-1", on: order, driving)
        }
    }

    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func whateverHappens(_ seed: UInt64) throws {
        var dice = SplitMix(seed: seed)
        var rules = DispatchPlanner()
        var order: Order?
        var route: Route?
        var lastID = ""
        for _ in 0..<100 {
            // The clock steps back now and then; a cancelled order makes way for a new one.
            let now = RulesFixture.now + Int64.random(in: -5...5, using: &dice)
            let occasion = CommandContext(actor: RulesFixture.admin, now: now, correlationID: text(&dice) ?? "c")
            if order?.status.isFinal == true { order = nil }
            if route?.status.isFinal == true { route = nil }
            guard let decision = try? act(&rules, order, route, occasion, &dice) else { continue }
            #expect(decision.order.map { $0.version == (order?.version ?? 0) + 1 } ?? true)
            #expect(decision.route.map { $0.version == (route?.version ?? 0) + 1 } ?? true)
            #expect((decision.audit == nil) == (decision.order == nil && decision.route == nil))
            #expect(decision.notifications.isEmpty || decision.audit != nil)
            try check(decision, occasion, &lastID)
            order = decision.order ?? order
            route = decision.route ?? route
        }
        #expect(lastID > "", "nothing was ever said")
    }

    /// Everything said is JSON, has an id later than all before it, and reads back as what was meant.
    private func check(_ decision: DispatchPlan, _ occasion: CommandContext, _ lastID: inout String) throws {
        #expect(try member("success", of: decision.response) == "true")
        if let details = decision.audit?.details { _ = try members(details) }
        for told in decision.notifications {
            #expect(told.id > lastID && ULID.isWellFormed(told.id))
            lastID = told.id
            #expect(try members(told.data).map(\.name).suffix(2) == ["notificationId", "correlationId"])
            #expect(try Set(members(told.data).map(\.name)).count == members(told.data).count)
            #expect(try string("notificationId", of: told.data) == told.id)
            #expect(try string("correlationId", of: told.data).map { Array($0.utf8) } == Array(occasion.correlationID.utf8))
            guard told.channel != "admin-channel", told.event == "job-assigned", let order = decision.order else { continue }
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
        var rules = RulesFixture.rulebook()
        let read = try Array(#""a\ud800b""#.utf8).withUnsafeBytes { try JSONReader.value($0).string }
        let deed = RulesFixture.orderDeed(.unassign, driver: "42", reason: read)
        let decision = try rules.plan(deed, on: nil, RulesFixture.occasion())
        #expect(try member("reason", of: decision.notifications[0].data) == "\"a\u{FFFD}b\"")
    }
}
