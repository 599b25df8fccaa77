import FleetRules
import Testing

/// Every action in every state, with and without a driver, with and without one named by the request.
@Suite struct OrderActionTests {
    /// What comes of an action on an order that is not at its end.
    struct Row: Sendable, CustomTestStringConvertible {
        enum Outcome: Sendable {
            /// Done: the status after it (nil: as before), the driver after it, and all that is said.
            case done(JobStatus?, driver: String?, name: String?, [String])
            /// Nothing but fields is stored.
            case stored
            case refused(RuleError.Kind, String)
        }

        let action: OrderAction.Kind
        let driver: String?
        let named: String?
        let outcome: Outcome

        init(_ action: OrderAction.Kind, _ driver: String?, _ named: String?, _ outcome: Outcome) {
            self.action = action
            self.driver = driver
            self.named = named
            self.outcome = outcome
        }

        var testDescription: String { "\(action) of \(driver ?? "nobody") naming \(named ?? "nobody")" }
    }

    private static func removed(_ driver: String) -> [String] {
        ["driver-\(driver) job-removed", "drivers-channel job-available-again"]
            + ["booking-REF-1 driver-removed", "admin-channel driver-removed"]
    }

    private static func unassigned(_ driver: String) -> [String] {
        ["driver-\(driver) order-removed", "driver-\(driver) schedule-updated"]
            + ["drivers-channel job-available-again", "admin-channel order-unassigned"]
    }

    private static func cancelled(_ driver: String) -> [String] {
        ["driver-\(driver) job-cancelled", "driver-\(driver) job-removed-from-list"] + cancelledForAll
    }

    private static let cancelledForAll = [
        "drivers-channel job-cancelled", "tracking-REF-1 tracking-stopped", "admin-channel order-cancelled",
    ]
    private static let assigned7 = ["driver-7 job-assigned", "admin-channel job-assigned", "admin-channel order-assigned"]
    private static let nobody = "Order ORD-1 has no driver"

    static let table: [Row] = [
        Row(.assign, nil, nil, .refused(.invalid, "driverId is required")),
        Row(.assign, "42", nil, .refused(.invalid, "driverId is required")),
        Row(.assign, nil, "7", .done(.assigned, driver: "7", name: "Said", assigned7)),
        Row(.assign, "42", "7", .done(.assigned, driver: "7", name: "Said", ["driver-42 job-removed"] + assigned7)),
        Row(.assign, "42", "42", .done(nil, driver: "42", name: "Said", [])),
        Row(.unassign, nil, nil, .refused(.conflict, nobody)),
        Row(.unassign, nil, "7", .done(.available, driver: nil, name: nil, unassigned("7"))),
        Row(.unassign, "42", nil, .done(.available, driver: nil, name: nil, unassigned("42"))),
        Row(.unassign, "42", "7", .done(.available, driver: nil, name: nil, unassigned("42"))),
        Row(.removeDriver, nil, nil, .refused(.conflict, nobody)),
        Row(.removeDriver, nil, "7", .done(.available, driver: nil, name: nil, removed("7"))),
        Row(.removeDriver, "42", nil, .done(.available, driver: nil, name: nil, removed("42"))),
        Row(.removeDriver, "42", "7", .done(.available, driver: nil, name: nil, removed("42"))),
        Row(.cancel, nil, nil, .done(.cancelled, driver: nil, name: nil, cancelledForAll)),
        Row(.cancel, nil, "7", .done(.cancelled, driver: nil, name: nil, cancelled("7"))),
        Row(.cancel, "42", nil, .done(.cancelled, driver: "42", name: "Stored", cancelled("42"))),
        Row(.cancel, "42", "7", .done(.cancelled, driver: "42", name: "Stored", cancelled("42"))),
        Row(.update, nil, nil, .stored), Row(.update, nil, "7", .stored), Row(.update, "42", nil, .stored),
        Row(.update, "42", "7", .stored),
    ]

    @Test func theTableIsWhole() {
        for action in OrderAction.Kind.allCases {
            for driver in [nil, "42"] {
                for named in [nil, "7"] {
                    #expect(Self.table.count { $0.action == action && $0.driver == driver && $0.named == named } == 1)
                }
            }
        }
    }

    @Test(arguments: JobStatus.allCases, table)
    func everyActionInEveryState(_ status: JobStatus, _ row: Row) throws {
        var rules = RulesFixture.rulebook()
        let order = RulesFixture.order(status, driver: row.driver, name: row.driver == nil ? nil : "Stored")
        var deed = RulesFixture.orderDeed(row.action, driver: row.named, name: "Said", reason: "why")
        deed.changes.customerName = .set("New Name")
        var stored = order
        stored.customerName = "New Name"
        stored.version = 6
        switch (status.isFinal, row.action, row.outcome) {
        case (_, _, .refused(.invalid, let text)):
            #expect(
                refusal { () throws(RuleError) in try rules.plan(deed, on: order, RulesFixture.occasion()) }
                    == RuleError(.invalid, text)
            )

        case (_, .update, _), (_, _, .stored):
            let decision = try rules.plan(deed, on: order, RulesFixture.occasion())
            #expect(decision.order == stored)
            #expect(decision.said == [])

        case (true, _, _):
            let refused = refusal { () throws(RuleError) in try rules.plan(deed, on: order, RulesFixture.occasion()) }
            #expect(refused == RuleError(.conflict, "Order ORD-1 is \(status.rawValue)"))

        case (false, _, .refused(let kind, let text)):
            #expect(
                refusal { () throws(RuleError) in try rules.plan(deed, on: order, RulesFixture.occasion()) }
                    == RuleError(kind, text))

        case (false, _, .done(let after, let driver, let name, let said)):
            let decision = try rules.plan(deed, on: order, RulesFixture.occasion())
            stored.status = after ?? status
            stored.driverID = driver
            stored.driverName = name
            #expect(decision.order == stored)
            #expect(decision.said == said)
            #expect(decision.audit?.before == .init(status: status, driverID: row.driver))
            #expect(decision.audit?.after == .init(status: stored.status, driverID: driver))
        }
    }

    @Test(arguments: OrderAction.Kind.allCases, ["7", nil])
    func anUnknownOrderIsCreatedUnlessRefused(_ action: OrderAction.Kind, _ named: String?) throws {
        var rules = RulesFixture.rulebook()
        let deed = RulesFixture.orderDeed(action, driver: named)
        switch (action, named) {
        case (.assign, nil), (.unassign, nil), (.removeDriver, nil):
            let refused = refusal { () throws(RuleError) in try rules.plan(deed, on: nil, RulesFixture.occasion()) }
            #expect(refused?.kind == (action == .assign ? .invalid : .conflict))
        default:
            let decision = try rules.plan(deed, on: nil, RulesFixture.occasion())
            #expect(decision.order?.version == 1)
            #expect(decision.order?.code == "ORD-1" && decision.order?.bookingID == nil)
            #expect(decision.audit?.before == nil && decision.audit?.after != nil)
            let data = try member("data", of: decision.response) ?? ""
            let shown = try member("order", of: Array(data.utf8))
            #expect(shown?.contains(#""bookingId":"ORD-1","bookingReference":"ORD-1""#) == true)
        }
    }

    @Test func thePresentDriverAgainIsNoNewsUnlessFieldsDiffer() throws {
        var rules = RulesFixture.rulebook()
        let order = RulesFixture.order(.enRoute, driver: "42", name: "Dan")
        let same = try rules.plan(RulesFixture.orderDeed(.assign, driver: "42"), on: order, RulesFixture.occasion())
        #expect(same.order == nil && same.audit == nil && same.notifications.isEmpty)
        #expect(same.answerText.contains("already assigned") && same.answerText.contains(#""version":5"#))
        #expect(same.answerText.contains(#""notificationIds":[]"#))

        var deed = RulesFixture.orderDeed(.assign, driver: "42")
        deed.changes.customerID = .clear
        let changed = try rules.plan(deed, on: order, RulesFixture.occasion())
        #expect(changed.order?.version == 6 && changed.order?.customerID == nil && changed.order?.driverName == "Dan")
        #expect(changed.order?.status == .enRoute && changed.notifications.isEmpty)
        #expect(changed.audit?.details.map { String(decoding: $0, as: UTF8.self) } == #"{"fields":["customerId"]}"#)
    }

    @Test func storingTheSameFieldsAgainChangesNothing() throws {
        var rules = RulesFixture.rulebook()
        var deed = RulesFixture.orderDeed(.update)
        deed.changes.customerName = .set("Cy Customer")
        let decision = try rules.plan(deed, on: RulesFixture.order(), RulesFixture.occasion())
        #expect(decision.order == nil && decision.audit == nil)
        #expect(decision.answerText.contains(#""version":5"#))
    }

    /// `==` holds both equal; who sent the second wants it stored.
    @Test func aNameInOtherCodePointsIsAnotherName() throws {
        var rules = RulesFixture.rulebook()
        var order = RulesFixture.order()
        order.customerName = "Ren\u{E9}"
        var deed = RulesFixture.orderDeed(.update)
        deed.changes.customerName = .set("Rene\u{301}")
        let decision = try rules.plan(deed, on: order, RulesFixture.occasion())
        #expect(decision.order?.customerName?.unicodeScalars.count == 5)
    }

    @Test(arguments: OrderAction.Kind.allCases)
    func anotherVersionIsAConflictThatNamesBoth(_ action: OrderAction.Kind) throws {
        var rules = RulesFixture.rulebook()
        let deed = RulesFixture.orderDeed(action, driver: "7")
        let order = RulesFixture.order(.assigned, driver: "42")
        for (known, version) in [(order, 5), (nil, 0)] {
            let stale = refusal { () throws(RuleError) in
                try rules.plan(deed, on: known, RulesFixture.occasion(expectedVersion: 4))
            }
            #expect(stale == RuleError(.conflict, "Order ORD-1 has version \(version), not 4"))
            _ = try rules.plan(deed, on: known, RulesFixture.occasion(expectedVersion: version))
        }
    }

    @Test func eventsGoWhereTheNewReferencePoints() throws {
        var rules = RulesFixture.rulebook()
        var deed = RulesFixture.orderDeed(.cancel)
        deed.changes.bookingReference = .set("NEW")
        let decision = try rules.plan(deed, on: RulesFixture.order(), RulesFixture.occasion())
        #expect(decision.said.contains("tracking-NEW tracking-stopped"))
        deed.changes.bookingReference = .clear
        let cleared = try rules.plan(deed, on: RulesFixture.order(), RulesFixture.occasion())
        #expect(cleared.said.contains("tracking-ORD-1 tracking-stopped"))
    }

    @Test func theAuditNamesTheDriverWhomOnlyTheRequestKnew() throws {
        var rules = RulesFixture.rulebook()
        let deed = RulesFixture.orderDeed(.unassign, driver: "7", reason: "why")
        let unknown = try rules.plan(deed, on: RulesFixture.order(), RulesFixture.occasion())
        #expect(unknown.audit?.details.map { String(decoding: $0, as: UTF8.self) } == #"{"driverId":"7"}"#)
        #expect(unknown.audit?.reason == "why")
        let known = try rules.plan(deed, on: RulesFixture.order(.assigned, driver: "42"), RulesFixture.occasion())
        #expect(known.audit?.details == nil)
    }
}
