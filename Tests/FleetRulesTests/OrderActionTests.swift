import Fleet
import Testing

/// Every action in every status, with and without a stored driver, with and without a fallback driver.
@Suite struct OrderActionTests {
    /// The result of an action on an order that is neither completed nor cancelled.
    struct Row: Sendable, CustomTestStringConvertible {
        enum Expectation: Sendable {
            /// The status after the action (nil: unchanged), the id and the name of the driver after it (nil: none),
            /// and the published events.
            case planned(JobStatus?, driver: String?, name: String?, [String])
            /// The action stores the request's fields and has no other effect.
            case stored
            case rejected(RuleError.Kind, String)
        }

        let kind: OrderAction.Kind
        /// The stored driver; nil: none.
        let driver: String?
        /// The request's fallback driver; nil: none.
        let fallback: String?
        let expectation: Expectation

        init(_ kind: OrderAction.Kind, _ driver: String?, _ fallback: String?, _ expectation: Expectation) {
            self.kind = kind
            self.driver = driver
            self.fallback = fallback
            self.expectation = expectation
        }

        var testDescription: String { "\(kind.name), driver \(driver ?? "-"), fallback \(fallback ?? "-")" }
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
    private static let noDriver = "Order ORD-1 has no driver"

    static let table: [Row] = [
        Row(.assign(to: "7", name: "New"), nil, nil, .planned(.assigned, driver: "7", name: "New", assigned7)),
        Row(
            .assign(to: "7", name: "New"), "42", nil,
            .planned(.assigned, driver: "7", name: "New", ["driver-42 job-removed"] + assigned7)),
        Row(.assign(to: "42", name: "New"), "42", nil, .planned(nil, driver: "42", name: "New", [])),
        Row(.unassign, nil, nil, .rejected(.conflict, noDriver)),
        Row(.unassign, nil, "7", .planned(.available, driver: nil, name: nil, unassigned("7"))),
        Row(.unassign, "42", nil, .planned(.available, driver: nil, name: nil, unassigned("42"))),
        Row(.unassign, "42", "7", .planned(.available, driver: nil, name: nil, unassigned("42"))),
        Row(.removeDriver, nil, nil, .rejected(.conflict, noDriver)),
        Row(.removeDriver, nil, "7", .planned(.available, driver: nil, name: nil, removed("7"))),
        Row(.removeDriver, "42", nil, .planned(.available, driver: nil, name: nil, removed("42"))),
        Row(.removeDriver, "42", "7", .planned(.available, driver: nil, name: nil, removed("42"))),
        Row(.cancel, nil, nil, .planned(.cancelled, driver: nil, name: nil, cancelledForAll)),
        Row(.cancel, nil, "7", .planned(.cancelled, driver: nil, name: nil, cancelled("7"))),
        Row(.cancel, "42", nil, .planned(.cancelled, driver: "42", name: "Stored", cancelled("42"))),
        Row(.cancel, "42", "7", .planned(.cancelled, driver: "42", name: "Stored", cancelled("42"))),
        Row(.update, nil, nil, .stored), Row(.update, nil, "7", .stored), Row(.update, "42", nil, .stored),
        Row(.update, "42", "7", .stored),
    ]

    private static let kindsWithFallback: [OrderAction.Kind] = [.unassign, .removeDriver, .cancel, .update]
    private static let kinds = [OrderAction.Kind.assign(to: "7")] + kindsWithFallback

    @Test func tableHasEveryCombination() {
        for kind in Self.kindsWithFallback {
            for driver in [nil, "42"] {
                for fallback in [nil, "7"] {
                    #expect(Self.table.count { $0.kind == kind && $0.driver == driver && $0.fallback == fallback } == 1)
                }
            }
        }
        #expect(Self.table.count == Self.kindsWithFallback.count * 4 + 3)
    }

    @Test(arguments: JobStatus.allCases, table)
    func hasTheExpectedResultInEveryStatus(_ status: JobStatus, _ row: Row) throws {
        var planner = RulesFixture.planner()
        let order = RulesFixture.order(status, driver: row.driver, name: row.driver == nil ? nil : "Stored")
        var action = RulesFixture.orderAction(row.kind, fallback: row.fallback, reason: "why")
        action.changes.customerName = .set("New Name")
        var expected = order
        expected.customerName = "New Name"
        expected.assignment.version = 6
        switch (status.isFinal, row.expectation) {
        case (_, .stored):
            let plan = try planner.plan(action, for: order, RulesFixture.context())
            #expect(plan.order == expected)
            #expect(plan.published == [])

        case (true, _):
            let error = ruleError { () throws(RuleError) in try planner.plan(action, for: order, RulesFixture.context()) }
            #expect(error == RuleError(.jobEnded, "Order ORD-1", status.rawValue))

        case (false, .rejected(let kind, let text)):
            let error = ruleError { () throws(RuleError) in try planner.plan(action, for: order, RulesFixture.context()) }
            #expect(error?.kind == kind && error?.text == text)

        case (false, .planned(let after, let driver, let name, let published)):
            let plan = try planner.plan(action, for: order, RulesFixture.context())
            expected.assignment.status = after ?? status
            expected.assignment.driver = .init(driver, name)
            #expect(plan.order == expected)
            let isStopped = order.isFollowed && driver != "42"
            #expect(plan.published == published + (isStopped ? ["tracking-REF-1 tracking-stopped"] : []))
            #expect(plan.audit?.before == .init(status: status, driverID: row.driver))
            #expect(plan.audit?.after == .init(status: after ?? status, driverID: driver))
        }
    }

    @Test(arguments: kinds, ["7", nil])
    func createsAnUnknownOrderUnlessRejected(_ kind: OrderAction.Kind, _ fallback: String?) throws {
        var planner = RulesFixture.planner()
        let action = RulesFixture.orderAction(kind, fallback: fallback)
        switch (kind, fallback) {
        case (.unassign, nil), (.removeDriver, nil):
            let error = ruleError { () throws(RuleError) in try planner.plan(action, for: nil, RulesFixture.context()) }
            #expect(error?.kind == .conflict)
        default:
            let plan = try planner.plan(action, for: nil, RulesFixture.context())
            #expect(plan.order?.assignment.version == 1)
            #expect(plan.order?.code == "ORD-1" && plan.order?.bookingID == nil)
            #expect(plan.audit?.before == nil && plan.audit?.after != nil)
            #expect(plan.responseText.contains(#""bookingId":"ORD-1","bookingReference":"ORD-1""#))
        }
    }

    @Test func assigningTheSameDriverPublishesNothingAndStoresOnlyChangedFields() throws {
        var planner = RulesFixture.planner()
        let order = RulesFixture.order(.enRoute, driver: "42", name: "Dan")
        let same = try planner.plan(RulesFixture.orderAction(.assign(to: "42")), for: order, RulesFixture.context())
        #expect(same.order == nil && same.audit == nil && same.notifications.isEmpty)
        #expect(same.responseText.contains("already assigned") && same.responseText.contains(#""version":5"#))
        #expect(same.responseText.contains(#""notificationIds":[]"#))

        var action = RulesFixture.orderAction(.assign(to: "42"))
        action.changes.customerID = .clear
        let changed = try planner.plan(action, for: order, RulesFixture.context())
        #expect(changed.order?.customerID == nil && changed.notifications.isEmpty)
        #expect(changed.order?.assignment == Assignment(status: .enRoute, driver: .init("42", "Dan"), version: 6))
        #expect(changed.audit?.detailsText == #"{"fields":["customerId"]}"#)
    }

    @Test func updateWithEqualFieldsChangesNothing() throws {
        var planner = RulesFixture.planner()
        var action = RulesFixture.orderAction(.update)
        action.changes.customerName = .set("Cy Customer")
        let plan = try planner.plan(action, for: RulesFixture.order(), RulesFixture.context())
        #expect(plan.order == nil && plan.audit == nil)
        #expect(plan.responseText.contains(#""version":5"#))
    }

    /// The stored name has an é, the new one an e with a combining accent. Swift's `==` considers these names equal.
    @Test func updateStoresACanonicallyEqualNameWithOtherBytes() throws {
        var planner = RulesFixture.planner()
        var order = RulesFixture.order()
        order.customerName = "Ren\u{E9}"
        var action = RulesFixture.orderAction(.update)
        action.changes.customerName = .set("Rene\u{301}")
        let plan = try planner.plan(action, for: order, RulesFixture.context())
        #expect(plan.order?.customerName?.unicodeScalars.count == 5)
    }

    @Test(arguments: kinds)
    func versionConflictNamesBothVersions(_ kind: OrderAction.Kind) throws {
        var planner = RulesFixture.planner()
        let action = RulesFixture.orderAction(kind, fallback: "7")
        let order = RulesFixture.order(.assigned, driver: "42")
        for (stored, version) in [(order, 5), (nil, 0)] {
            let error = ruleError { () throws(RuleError) in
                try planner.plan(action, for: stored, RulesFixture.context(expectedVersion: 4))
            }
            #expect(error == RuleError(.wrongVersion, "Order ORD-1", "\(version)", "4"))
            _ = try planner.plan(action, for: stored, RulesFixture.context(expectedVersion: version))
        }
    }

    @Test func eventsUseTheNewBookingReference() throws {
        var planner = RulesFixture.planner()
        var action = RulesFixture.orderAction(.cancel)
        action.changes.bookingReference = .set("NEW")
        let plan = try planner.plan(action, for: RulesFixture.order(), RulesFixture.context())
        #expect(plan.published.contains("tracking-NEW tracking-stopped"))
        action.changes.bookingReference = .clear
        let cleared = try planner.plan(action, for: RulesFixture.order(), RulesFixture.context())
        #expect(cleared.published.contains("tracking-ORD-1 tracking-stopped"))
    }

    @Test func auditNamesTheFallbackDriverOnlyIfUsed() throws {
        var planner = RulesFixture.planner()
        let action = RulesFixture.orderAction(.unassign, fallback: "7", reason: "why")
        let used = try planner.plan(action, for: RulesFixture.order(), RulesFixture.context())
        #expect(used.audit?.detailsText == #"{"driverId":"7"}"#)
        #expect(used.audit?.reason == "why")
        let unused = try planner.plan(action, for: RulesFixture.order(.assigned, driver: "42"), RulesFixture.context())
        #expect(unused.audit?.details == nil)
    }
}
