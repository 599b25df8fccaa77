import FleetRules
import JSON
import Primitives
import Testing

@testable import Store

@Suite struct CommandExecutorTests {
    private let room = TemporaryStore()

    @Test func writesStateAuditNotificationsAndAnswerTogether() throws {
        let ledger = try room.ledger()
        let settlement = try ledger.settle(assign("A", to: "42", key: "k"))
        #expect(settlement.status == 200 && !settlement.isReplay && settlement.error == nil)
        #expect(settlement.order?.assignment.status == .assigned && settlement.order?.assignment.driver?.id.text == "42")
        #expect(settlement.notifications.map(\.channel) == ["driver-42", "admin-channel", "admin-channel"])
        #expect(try ledger.database.dump("SELECT code, status, driver_id, version FROM orders") == ["A|assigned|42|1"])
        #expect(
            try ledger.database.dump("SELECT channel, sequence, event, actor, action FROM notifications ORDER BY id")
                == [
                    "driver-42|1|job-assigned|admin:1|assign", "admin-channel|1|job-assigned|admin:1|assign",
                    "admin-channel|2|order-assigned|admin:1|assign",
                ])
        #expect(
            try ledger.database.dump("SELECT actor, action, order_code, status_before, status_after, driver_after FROM audit")
                == ["admin:1|assign|A|-|assigned|42"])
        #expect(try ledger.database.dump("SELECT body FROM idempotency") == [settlement.text])
    }

    @Test func aRefusalWritesNothing() throws {
        let ledger = try room.ledger()
        _ = try ledger.settle(order(.cancel, "A"))
        let before = try ledger.everything()
        let refused = try ledger.settle(assign("A", to: "42", key: "k"))
        #expect(refused.status == 409 && refused.error?.kind == .conflict && refused.text == "Order A is cancelled")
        #expect(try ledger.settle(command(.acceptJob("B"), by: driver("42"))).status == 404)
        #expect(try ledger.settle(command(.acceptRoute("R"), by: driver("42"))).status == 404)
        let progress = Command.Action.progress("A", ProgressReport(step: .arrived))
        #expect(try ledger.settle(command(progress, by: driver("42"))).status == 403)
        let announcement = Announcement(type: "HELLO", audience: .drivers([]), data: Array("{}".utf8))
        #expect(try ledger.settle(command(.announce(announcement))).status == 400)
        #expect(try ledger.everything() == before)
    }

    @Test func findsAJobByCodeThenByBooking() throws {
        let ledger = try room.ledger()
        var changes = OrderChanges()
        changes.bookingID = .set("B")
        // The booking's orders: one over, two open, of which the second is newer. And an order whose code is another's booking.
        for (index, code) in ["over", "older", "newer"].enumerated() {
            _ = try ledger.settle(assign(code, to: "42", changes: changes), at: noon + Int64(index))
        }
        _ = try ledger.settle(assign("last", to: "42", changes: changes), at: noon + 9)
        _ = try ledger.settle(order(.cancel, "last"), at: noon + 10)
        #expect(try ledger.settle(command(.acceptJob("B"), by: driver("42"))).order?.code == "newer")
        #expect(try ledger.settle(command(.acceptJob("older"), by: driver("42"))).order?.code == "older")
        _ = try ledger.settle(assign("B", to: "42"))
        #expect(try ledger.settle(command(.acceptJob("B"), by: driver("42"))).order?.code == "B")
        let progress = Command.Action.progress("B", ProgressReport(step: .enRoute))
        #expect(try ledger.settle(command(progress, by: driver("42"))).order?.code == "B")
        for code in ["over", "older", "newer"] { _ = try ledger.settle(order(.cancel, code)) }
        changes.bookingID = .set("C")
        _ = try ledger.settle(assign("done", to: "42", changes: changes))
        _ = try ledger.settle(order(.cancel, "done"))
        #expect(try ledger.settle(command(.acceptJob("C"), by: driver("42"))).text == "Order done is cancelled")
    }

    @Test func ofABookingsOrdersFindsHisOwn() throws {
        let ledger = try room.ledger()
        var changes = OrderChanges()
        changes.bookingID = .set("B")
        _ = try ledger.settle(assign("his", to: "42", changes: changes), at: noon)
        _ = try ledger.settle(assign("another's", to: "7", changes: changes), at: noon + 1)
        var free = OrderAction(code: "free", .update)
        free.changes = changes
        _ = try ledger.settle(command(.order(free)), at: noon + 2)
        #expect(try ledger.settle(command(.acceptJob("B"), by: driver("42"))).order?.code == "his")
        #expect(try ledger.settle(command(.acceptJob("B"), by: driver("7"))).order?.code == "another's")
        let progress = Command.Action.progress("B", ProgressReport(step: .enRoute))
        #expect(try ledger.settle(command(progress, by: driver("42"))).order?.code == "his")
        #expect(try ledger.settle(command(.acceptJob("B"), by: driver("9"))).order?.code == "free")
    }

    @Test func keepsARouteApartFromAnOrderOfTheSameName() throws {
        let ledger = try room.ledger()
        let route = RouteAction(id: "A", .assign(.init(id: Identifier("42"))))
        #expect(try ledger.settle(command(.route(route))).status == 200)
        _ = try ledger.settle(order(.cancel, "A"))
        let accepted = try ledger.settle(command(.acceptRoute("A"), by: driver("42")))
        #expect(accepted.status == 200 && accepted.order == nil)
        #expect(try ledger.database.dump("SELECT id, status, driver_id, version FROM routes") == ["A|accepted|42|2"])
        #expect(try ledger.database.dump("SELECT order_code, route_id, action FROM audit ORDER BY id").last == "-|A|accept")
    }

    @Test func checksTheVersionThatWasExpected() throws {
        let ledger = try room.ledger()
        _ = try ledger.settle(assign("A", to: "42"))
        let deed = Command.Action.order(OrderAction(code: "A", .cancel))
        let stale = Command(actor: admin, action: deed, correlationID: "c", expectedVersion: 7)
        #expect(try ledger.settle(stale).status == 409)
        let fresh = Command(actor: admin, action: deed, correlationID: "c", expectedVersion: 1)
        #expect(try ledger.settle(fresh).order?.assignment.version == 2)
    }

    @Test func namesTheOpenOrdersOldestFirst() throws {
        do {
            let ledger = try room.ledger()
            for (index, code) in ["C", "A", "B", "gone"].enumerated() {
                _ = try ledger.settle(assign(code, to: "\(index)"), at: noon + Int64(index))
            }
            _ = try ledger.settle(order(.cancel, "gone"))
            _ = try ledger.settle(order(.unassign, "A"))
        }
        var open: [String] = []
        try room.ledger().openOrders { open.append("\($0.code) \($0.assignment.driver?.id.text ?? "-")") }
        #expect(open == ["C 0", "A -", "B 2"])
    }

    @Test func everyFieldComesBackAsItWasSaid() throws {
        let text = "Zoë's \"place\"; DROP TABLE orders; --\u{0}\u{7F}🚚"
        var changes = OrderChanges()
        changes.bookingID = .set("B-1")
        changes.customerName = .set(text)
        changes.pickupAddress = .set(text)
        changes.dropoffAddress = .set("")
        changes.scheduledAt = .set("2026-11-21T12:00:00+01:00")
        changes.totalGBP = .set(JSONNumber(text: "1.50e1"))
        let said: Order?
        do { said = try room.ledger().settle(assign("A", to: "42", changes: changes)).order }
        var stored: [Order] = []
        try room.ledger().openOrders { stored.append($0) }
        #expect(stored == [try #require(said)])
        #expect(stored.first?.customerName?.utf8.elementsEqual(text.utf8) == true)
        #expect(stored.first?.totalGBP?.text == "1.50e1")
    }

    /// Ids go on increasing when the clock was set back while the gateway was down.
    @Test func idsIncreaseAcrossRestarts() throws {
        for now in [noon, noon - day, noon - 2 * day] {
            _ = try room.ledger(at: now).settle(assign("A\(now)", to: "42"), at: now)
        }
        let database = try room.ledger().database
        #expect(
            try database.dump("SELECT created_at FROM notifications WHERE channel = 'driver-42' ORDER BY id")
                == ["\(noon)", "\(noon - day)", "\(noon - 2 * day)"])
        #expect(
            try database.dump("SELECT order_code FROM audit ORDER BY id")
                == ["A\(noon)", "A\(noon - day)", "A\(noon - 2 * day)"])
    }
}
