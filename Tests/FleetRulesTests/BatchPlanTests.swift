import JSON
import Primitives
import TestSupport
import Testing

@testable import Fleet

@Suite struct BatchPlanTests {
    static let driver = BatchDriver(accountID: id(0xD1), personID: Identifier("42"), name: "Dana")
    private static let other = BatchDriver(accountID: id(0xD2), personID: Identifier("9"))

    static func id(_ number: Int) -> ObjectID {
        let digits = String(number, radix: 16)
        return ObjectID(String(repeating: "0", count: 24 - digits.count) + digits)!
    }

    /// A new batch with two orders.
    static func batch() -> Batch {
        var batch = Batch(id: id(0xB), createdAt: RulesFixture.now)
        batch.batchNumber = "BATCH-7"
        batch.zone = Zone(id: id(0xC))
        batch.zone?.name = "West"
        batch.orders = [
            BatchOrder(id: id(0xA1), orderNumber: "ORD-1", sequenceNumber: 1),
            BatchOrder(id: id(0xA2), orderNumber: "ORD-2", sequenceNumber: 2),
        ]
        batch.version = 1
        return batch
    }

    private static let rules = NotificationRules(.builtIn, mode: .mirror, eventBytesMax: 10_240)

    private func plan(
        _ action: BatchAction, _ batch: Batch, version: Int? = nil, rules: NotificationRules = rules
    ) throws(RuleError) -> DispatchPlan {
        var planner = RulesFixture.planner()
        var random = SplitMix(seed: 1)
        let context = RulesFixture.context(expectedVersion: version, rules: rules)
        return try planner.plan(action, for: batch, context, using: &random) {
            .changed($0.message, $0.batch, notificationIDs: $1)
        }
    }

    /// The batch after these actions.
    private func batch(after actions: BatchAction...) throws -> Batch {
        try actions.reduce(Self.batch()) { try #require(try plan($1, $0).batch?.batch) }
    }

    private static let accept = BatchAction.accept(driver, activeBatch: nil)
    private static let pickup = BatchAction.pickup(by: driver.accountID, notes: "Two bags")
    private static let report = BatchAction.report(
        DeliveryReport(.failed(.other), notes: "Dog"), of: id(0xA1), by: driver.accountID, otp: .notRequired)

    /// An action, what went before, the events, and who gets which push.
    private struct Case: CustomTestStringConvertible {
        let action: BatchAction
        var before: [BatchAction] = []
        let published: [String]
        var pushes: [PushIntent.Audience] = []
        var testDescription: String { action.name }
    }

    private static let cases: [Case] = [
        Case(action: .ready, published: ["drivers-channel new-batch-available"], pushes: [.onlineDrivers(except: nil)]),
        Case(
            action: accept, before: [.ready],
            published: ["drivers-channel batch-taken", "admin-channel batch-accepted"]),
        Case(action: pickup, before: [.ready, accept], published: ["admin-channel batch-picked-up"]),
        Case(action: report, before: [.ready, accept, pickup], published: ["admin-channel batch-progress"]),
        Case(
            action: .reassign(Reassignment(to: other, isApproved: true, activeBatch: nil, reason: "Flat tyre")),
            before: [.ready, accept], published: ["driver-42 batch-reassigned", "driver-9 batch-assigned"],
            pushes: [.driver("42"), .driver("9")]),
        Case(
            action: .unassign(reason: nil), before: [.ready, accept],
            published: ["driver-42 batch-reassigned", "drivers-channel new-batch-available"],
            pushes: [.driver("42"), .onlineDrivers(except: "driver:42")]),
        Case(
            action: .cancel(reason: "Rain"), before: [.ready, accept], published: ["driver-42 batch-cancelled"],
            pushes: [.driver("42")]),
        Case(
            action: .cancelOrder(id(0xA1), by: .customer, reason: nil), before: [.ready, accept],
            published: ["driver-42 order-cancelled"], pushes: [.driver("42")]),
        Case(action: .edit(BatchEdits()), published: []),
    ]

    @Test(arguments: 0..<9) func publishesAndPushes(_ index: Int) throws {
        #expect(Self.cases.count == 9)
        let expected = Self.cases[index]
        let before = try expected.before.reduce(Self.batch()) { try #require(try self.plan($1, $0).batch?.batch) }
        let plan = try self.plan(expected.action, before)
        #expect(plan.published == expected.published)
        #expect(plan.pushes.map(\.audience) == expected.pushes)
        #expect(plan.pushes.allSatisfy { $0.entity == nil })
        #expect(plan.batch?.stored == before && plan.batch?.batch.version == before.version + 1)
        let audit = try #require(plan.audit)
        #expect(audit.action == expected.action.name && audit.subject == .batch(before.id.text))
        #expect(audit.before?.status == before.status.rawValue && audit.reason == expected.action.reason)
    }

    @Test func eventsHaveTheFieldsThatAppsKnow() throws {
        func data(_ action: BatchAction, _ before: BatchAction..., event index: Int = 0) throws -> String {
            let stored = try before.reduce(Self.batch()) { try #require(try plan($1, $0).batch?.batch) }
            let text = try plan(action, stored).notifications[index].text
            return try #require(text.firstRange(of: #","notificationId""#).map { String(text[..<$0.lowerBound]) + "}" })
        }
        let name = #""batchId":"00000000000000000000000b","batchNumber":"BATCH-7""#
        let batchID = #""batchId":"00000000000000000000000b""#
        #expect(try data(.ready) == #"{\#(name),"zone":"West","orderCount":2}"#)
        #expect(try data(Self.accept, .ready) == "{\(batchID)}")
        let reassign = BatchAction.reassign(Reassignment(to: Self.other, isApproved: true, activeBatch: nil, reason: "Tyre"))
        #expect(try data(reassign, .ready, Self.accept) == #"{\#(name),"reason":"Tyre"}"#)
        #expect(
            try data(reassign, .ready, Self.accept, event: 1)
                == #"{\#(batchID),"routeId":"00000000000000000000000b","batchNumber":"BATCH-7","zone":"West","orderCount":2,"#
                + #""message":"New batch assigned to you"}"#)
        #expect(
            try data(.cancel(reason: nil), .ready, Self.accept)
                == #"{\#(name),"reason":null,"message":"Batch has been cancelled by admin"}"#)
        #expect(
            try data(.cancelOrder(Self.id(0xA1), by: .admin, reason: nil), .ready, Self.accept)
                == #"{"orderId":"0000000000000000000000a1",\#(batchID),"orderNumber":"ORD-1","cancelledBy":"admin"}"#)
        #expect(
            try data(Self.report, .ready, Self.accept, Self.pickup)
                == #"{\#(name),"driverId":"42","totalOrders":2,"delivered":0,"failed":1,"pending":1,"#
                + #""orderId":"0000000000000000000000a1","status":"FAILED"}"#)
    }

    @Test func theAuditLogHasWhatTheDriverReported() throws {
        let stored = try batch(after: .ready, Self.accept, Self.pickup)
        let details = try #require(try plan(Self.report, stored).audit?.details)
        #expect(
            String(decoding: details, as: UTF8.self)
                == #"{"orderId":"0000000000000000000000a1","status":"FAILED","failureReason":"OTHER","notes":"Dog"}"#)
    }

    @Test func theGatewayItselfOpensABatch() throws {
        var due = Self.batch()
        due.windowEndTime = RulesFixture.now
        let audit = try plan(.open, due).audit
        #expect(audit?.actor == DispatchPlanner.batchActor && audit?.action == "open")
        #expect(try plan(.ready, due).audit?.actor == RulesFixture.admin.key)
    }

    @Test func aRepetitionChangesNothing() throws {
        let plan = try plan(.ready, batch(after: .ready))
        #expect(plan.isRepetition && plan.batch == nil && plan.notifications.isEmpty && plan.audit == nil)
    }

    @Test func ifMatchIsChecked() throws {
        #expect(throws: RuleError.self) { try plan(.ready, Self.batch(), version: 2) }
        #expect(throws: Never.self) { try plan(.ready, Self.batch(), version: 1) }
    }

    /// `push: off` of the entry turns the push of waiting batches off; `broadcast` has no say.
    @Test func theCatalogueTurnsPushesOff() throws {
        var rules = Self.rules
        rules.rules["NEW_BATCH_AVAILABLE"] = .init(lifetimeSeconds: 60, collapsesByJob: false, push: [])
        #expect(try plan(.ready, Self.batch(), rules: rules).pushes.isEmpty)
        rules.rules["batch-taken"] = .init(lifetimeSeconds: 60, collapsesByJob: false, push: [.personal, .broadcast])
        #expect(try plan(Self.accept, batch(after: .ready), rules: rules).pushes.isEmpty)
    }

    @Test func theSwitchTellsDispatchers() throws {
        var planner = RulesFixture.planner()
        let offline = Availability(accountID: Self.id(1), personID: "42", isOnline: false, since: RulesFixture.now)
        let plan = try planner.switchAvailability(
            to: offline, responding: .availability(AvailabilityState(offline)), RulesFixture.context())
        #expect(plan.published == ["admin-channel driver-availability"] && plan.availability == offline)
        #expect(
            plan.notifications[0].text.hasPrefix(
                #"{"driverId":"42","online":false,"timestamp":"2026-11-21T09:30:00.123Z""#))
        #expect(AvailabilityState(nil) == AvailabilityState(nil) && AvailabilityState(nil).isOnline)
    }
}

extension BatchNews {
    /// One of each kind, to see what is published where.
    static func samples(_ driver: BatchDriver, order: BatchOrder) -> [BatchNews] {
        [
            .available, .taken, .reassigned(from: driver), .assigned(to: driver), .cancelled(driver, reason: nil),
            .orderCancelled(driver, orderID: order.id, orderNumber: order.orderNumber, by: .customer), .accepted,
            .pickedUp, .progress, .completed,
        ]
    }
}
