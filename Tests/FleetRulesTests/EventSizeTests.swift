import Access
import FleetRules
import JSON
import Testing

@Suite struct EventSizeTests {
    private static let address = String(repeating: "a", count: 10_000)

    private func refused(_ deed: OrderAction, on order: Order? = RulesFixture.order(), max: Int = 10_240) -> RuleError? {
        var rules = RulesFixture.rulebook()
        let occasion = RulesFixture.occasion(rules: NotificationRules(eventBytesMax: max))
        return refusal { () throws(RuleError) in try rules.plan(deed, on: order, occasion) }
    }

    @Test func whatNoEventCouldHoldIsRefusedWhenItIsSaid() {
        var deed = RulesFixture.orderDeed(.update)
        deed.changes.pickupAddress = .set(Self.address)
        deed.changes.customerName = .set("short")
        let refused = refused(deed)
        #expect(refused?.kind == .invalid)
        #expect(refused?.text == "pickupAddress makes the event job-assigned larger than 10240 bytes")
    }

    @Test func theLongestFieldOfThisRequestIsNamedNotOneStoredBefore() {
        var order = RulesFixture.order()
        order.pickupAddress = String(repeating: "p", count: 9_000)
        var deed = RulesFixture.orderDeed(.update)
        deed.changes.customerName = .set(String(repeating: "c", count: 500))
        deed.changes.dropoffAddress = .set(String(repeating: "\u{1}", count: 200))
        // 200 controls are 1,200 bytes once escaped.
        #expect(refused(deed, on: order)?.text.hasPrefix("dropoffAddress ") == true)
    }

    @Test func numbersCountAsTheyAreWritten() {
        var deed = RulesFixture.orderDeed(.assign, driver: "42")
        deed.changes.totalGBP = .set(JSONNumber(text: "1" + String(repeating: "0", count: 11_000)))
        #expect(refused(deed)?.text.hasPrefix("totalGBP ") == true)
    }

    /// The point of it: whatever an update accepted, every action may say, with ids and correlation as long as they may be.
    @Test func whatIsStoredFitsEveryEventThatMayCome() throws {
        let longest = String(repeating: "9", count: 150)
        var low = 8_000
        var high = 10_240
        var stored: Order?
        while low < high {
            let middle = (low + high + 1) / 2
            var deed = OrderAction(code: longest, action: .update)
            deed.changes.bookingID = .set(longest)
            deed.changes.bookingReference = .set(longest)
            deed.changes.pickupAddress = .set(String(repeating: "a", count: middle))
            var rules = RulesFixture.rulebook()
            if let decision = try? rules.plan(deed, on: nil, RulesFixture.occasion()) {
                (low, stored) = (middle, decision.order)
            } else {
                high = middle - 1
            }
        }
        #expect(low > 8_000 && low < 10_240)
        let order = try #require(stored)
        let occasion = CommandContext(
            actor: RulesFixture.admin, now: RulesFixture.now, correlationID: String(repeating: "\"", count: 128))
        let largest = try OrderAction.Kind.allCases.map { action in
            var rules = RulesFixture.rulebook()
            var deed = OrderAction(code: longest, action: action)
            deed.driverID = longest
            return try rules.plan(deed, on: order, occasion).notifications.map(\.data.count).max() ?? 0
        }
        // Not a byte is given away: the largest event of all fills the limit.
        #expect(largest.max() == 10_240)
    }

    @Test func whatIsSaidOnlyNowIsNamedToo() {
        var deed = RulesFixture.orderDeed(.unassign, driver: "42", reason: Self.address + Self.address)
        #expect(refused(deed)?.text == "reason makes the event order-removed larger than 10240 bytes")
        deed = RulesFixture.orderDeed(.assign, driver: "42", name: Self.address + Self.address, reason: "short")
        #expect(refused(deed)?.text.hasPrefix("driverName ") == true)
    }

    @Test func theDriversOwnNameIsCheckedWhenHeSpeaks() {
        var rules = RulesFixture.rulebook()
        let long = RulesFixture.occasion(by: Identity(role: .driver, id: "42", name: Self.address + Self.address))
        let refused = refusal { () throws(RuleError) in try rules.acceptJob("ORD-1", on: RulesFixture.order(), long) }
        #expect(refused?.kind == .invalid && refused?.text.hasPrefix("driverName ") == true)
    }

    /// A request that sets nothing is not to blame for what a lower limit makes of an old order, unless its own events are.
    @Test func aRequestThatSetsNothingIsRefusedOnlyForItsOwnEvents() throws {
        var order = RulesFixture.order()
        order.pickupAddress = Self.address
        var rules = RulesFixture.rulebook()
        let occasion = RulesFixture.occasion(rules: NotificationRules(eventBytesMax: 2_000))
        #expect(try rules.plan(RulesFixture.orderDeed(.cancel), on: order, occasion).order?.status == .cancelled)
        #expect(
            refused(RulesFixture.orderDeed(.assign, driver: "42"), on: order, max: 2_000)?.text.hasPrefix("pickupAddress ")
                == true)
    }

    @Test func routesAreCheckedTheSame() {
        var rules = RulesFixture.rulebook()
        var deed = RulesFixture.routeDeed(.update)
        deed.changes.routeNumber = .set(Self.address)
        let long = refusal { () throws(RuleError) in try rules.plan(deed, on: RulesFixture.route(), RulesFixture.occasion()) }
        #expect(long?.kind == .invalid && long?.text.hasPrefix("routeNumber ") == true)
        deed = RulesFixture.routeDeed(.removeDrop("D-9"), reason: Self.address + Self.address)
        let reason = refusal { () throws(RuleError) in try rules.plan(deed, on: RulesFixture.route(), RulesFixture.occasion()) }
        #expect(reason?.text.hasPrefix("reason ") == true)
    }
}
