import Access
import JSON
import TestSupport
import Testing

@testable import Fleet

@Suite struct EventSizeTests {
    private static let address = String(repeating: "a", count: 10_000)

    private func error(
        _ action: OrderAction, for order: Order? = RulesFixture.order(), max: Int = 10_240
    ) -> RuleError? {
        var planner = RulesFixture.planner()
        let context = RulesFixture.context(rules: NotificationRules(eventBytesMax: max))
        return ruleError { () throws(RuleError) in try planner.plan(action, for: order, context) }
    }

    @Test func rejectsAFieldTooLongForALaterEvent() {
        var action = RulesFixture.orderAction(.update)
        action.changes.pickupAddress = .set(Self.address)
        action.changes.customerName = .set("short")
        let error = error(action)
        #expect(error?.kind == .invalid)
        #expect(error?.text == #"Field "pickupAddress" is too long: event job-assigned would exceed 10240 bytes"#)
    }

    @Test func errorNamesTheLongestFieldOfTheRequestEvenIfAStoredOneIsLonger() {
        var order = RulesFixture.order()
        order.pickupAddress = String(repeating: "p", count: 9_000)
        var action = RulesFixture.orderAction(.update)
        action.changes.customerName = .set(String(repeating: "c", count: 500))
        action.changes.dropoffAddress = .set(String(repeating: "\u{1}", count: 200))
        // The 200 control characters are 1,200 bytes long after escaping.
        #expect(error(action, for: order)?.text.hasPrefix(#"Field "dropoffAddress" "#) == true)
    }

    @Test func countsNumbersWithAllTheirDigits() {
        var action = RulesFixture.orderAction(.assign(to: "42"))
        action.changes.totalGBP = .set(JSONNumber(text: "1" + String(repeating: "0", count: 11_000)))
        #expect(error(action)?.text.hasPrefix(#"Field "totalGBP" "#) == true)
    }

    /// The check of an update's size guarantees that every action after an accepted update succeeds, even with the
    /// longest ids and the longest correlation id.
    @Test func storedFieldsFitEveryLaterEvent() throws {
        let longest = String(repeating: "9", count: 150)
        var low = 8_000
        var high = 10_240
        var stored: Order?
        while low < high {
            let middle = (low + high + 1) / 2
            var action = OrderAction(code: longest, .update)
            action.changes.bookingID = .set(longest)
            action.changes.bookingReference = .set(longest)
            action.changes.pickupAddress = .set(String(repeating: "a", count: middle))
            var planner = RulesFixture.planner()
            if let plan = try? planner.plan(action, for: nil, RulesFixture.context()) {
                (low, stored) = (middle, plan.order)
            } else {
                high = middle - 1
            }
        }
        #expect(low > 8_000 && low < 10_240)
        let order = try #require(stored)
        let context = CommandContext(
            sender: .person(RulesFixture.admin), now: RulesFixture.now, correlationID: String(repeating: "\"", count: 128))
        let kinds: [OrderAction.Kind] = [.assign(to: longest), .unassign, .removeDriver, .cancel, .update]
        let sizes = try kinds.map { kind in
            var planner = RulesFixture.planner()
            var action = OrderAction(code: longest, kind)
            action.fallbackDriver = .init(longest)
            return try planner.plan(action, for: order, context).notifications.map(\.data.count).max() ?? 0
        }
        // The check is exact: the largest event has exactly as many bytes as the limit.
        #expect(sizes.max() == 10_240)
    }

    /// The quick check must not accept what the exact one rejects.
    @Test(arguments: 0..<100) func boundIsNeverBelowTheSizeOfAnEvent(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let alphabets = [["a"], ["\u{1}"], ["\"", "é", "\u{1F69A}", "\n", "z"]]
        func text() -> String {
            let alphabet = alphabets[random.below(alphabets.count)]
            return (0..<random.below(400)).map { _ in alphabet[random.below(alphabet.count)] }.joined()
        }
        func optional() -> String? { random.chance(percent: 30) ? nil : text() }
        func number() -> JSONNumber? { optional().map { JSONNumber(text: "1" + String(repeating: "0", count: $0.utf8.count)) } }
        let longest = String(repeating: "9", count: Identity.idLengthMax)
        let name = optional()
        var order = Order(code: text())
        order.bookingID = optional()
        order.bookingReference = optional()
        order.customerName = optional()
        order.pickupAddress = optional()
        order.dropoffAddress = optional()
        order.scheduledAt = optional()
        order.totalGBP = number()
        var route = Route(id: text())
        route.routeNumber = optional()
        route.bookingsCount = number()
        route.dropsCount = number()
        route.earningsAdjustment = number()
        let drafts =
            OrderTransition.samples(driver: longest, name: name).flatMap { $0.events(of: order, at: 0) }.map { ($0, true) }
            + RouteTransition.samples(driver: longest, name: name).flatMap { $0.events(of: route, at: 0) }.map { ($0, false) }
        for (draft, isOfOrder) in drafts {
            let size = draft.data(id: String(repeating: "7", count: 26), correlationID: String(repeating: "\"", count: 128)).count
            let rules = NotificationRules()
            let bound =
                isOfOrder ? EventSize.bound(order, driverName: name, rules) : EventSize.bound(route, driverName: name, rules)
            #expect(size <= bound, "\(draft.event)")
        }
    }

    /// Otherwise an update would be accepted, and every assignment after it rejected.
    @Test func countsTheFieldsThatTheCatalogueAdds() {
        let fields = (0..<10).map { NotificationCatalogue.DataField("field\($0)", String(repeating: "\u{1}", count: 200)) }
        let rule = NotificationRules.Rule(lifetimeSeconds: 60, collapsesByJob: true, data: fields)
        let rules = NotificationRules(rules: ["job-assigned": rule], eventBytesMax: 5_000)
        var action = RulesFixture.orderAction(.update)
        action.changes.pickupAddress = .set("1 High Street")
        var planner = RulesFixture.planner()
        let error = ruleError { () throws(RuleError) in
            try planner.plan(action, for: RulesFixture.order(), RulesFixture.context(rules: rules))
        }
        #expect(error?.text == #"Field "pickupAddress" is too long: event job-assigned would exceed 5000 bytes"#)
    }

    @Test func errorsAlsoNameReasonAndDriverName() {
        var action = RulesFixture.orderAction(.unassign, fallback: "42", reason: Self.address + Self.address)
        #expect(error(action)?.text == #"Field "reason" is too long: event order-removed would exceed 10240 bytes"#)
        action = RulesFixture.orderAction(.assign(to: "42", name: Self.address + Self.address), reason: "short")
        #expect(error(action)?.text.hasPrefix(#"Field "driverName" "#) == true)
    }

    @Test func checksTheDriversNameFromTheToken() {
        var planner = RulesFixture.planner()
        let long = RulesFixture.context(by: Identity(role: .driver, id: "42", name: Self.address + Self.address))
        let error = ruleError { () throws(RuleError) in try planner.accept(order: RulesFixture.order(), long) }
        #expect(error?.kind == .invalid && error?.text.hasPrefix(#"Field "driverName" "#) == true)
    }

    /// A stored field may be too long if the limit was lowered after the field was stored. A request that does not set
    /// the field is rejected only if an event of this very request is too large.
    @Test func rejectsARequestWithoutFieldsOnlyForItsOwnEvents() throws {
        var order = RulesFixture.order()
        order.pickupAddress = Self.address
        var planner = RulesFixture.planner()
        let context = RulesFixture.context(rules: NotificationRules(eventBytesMax: 2_000))
        let plan = try planner.plan(RulesFixture.orderAction(.cancel), for: order, context)
        #expect(plan.order?.assignment.status == .cancelled)
        let error = error(RulesFixture.orderAction(.assign(to: "42")), for: order, max: 2_000)
        #expect(error?.text.hasPrefix(#"Field "pickupAddress" "#) == true)
    }

    @Test func checksRoutesLikeOrders() {
        var planner = RulesFixture.planner()
        var action = RulesFixture.routeAction(.update)
        action.changes.routeNumber = .set(Self.address)
        let long = ruleError { () throws(RuleError) in
            try planner.plan(action, for: RulesFixture.route(), RulesFixture.context())
        }
        #expect(long?.kind == .invalid && long?.text.hasPrefix(#"Field "routeNumber" "#) == true)
        action = RulesFixture.routeAction(.removeDrop("D-9"), reason: Self.address + Self.address)
        let reason = ruleError { () throws(RuleError) in
            try planner.plan(action, for: RulesFixture.route(), RulesFixture.context())
        }
        #expect(reason?.text.hasPrefix(#"Field "reason" "#) == true)
    }
}
