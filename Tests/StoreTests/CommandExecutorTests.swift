import JSON
import Primitives
import Testing

@testable import Fleet

@Suite struct CommandExecutorTests {
    private let store = TemporaryStore()

    @Test func writesStateAuditNotificationsAndResponseTogether() throws {
        let executor = try store.executor()
        let reply = try executor.commit(assign("A", to: "42", key: "k"))
        #expect(reply.status == 200 && !reply.isReplay && reply.error == nil)
        #expect(reply.order?.assignment.status == .assigned && reply.order?.assignment.driver?.id.text == "42")
        #expect(reply.notifications.map(\.channel) == ["driver-42", "admin-channel", "admin-channel"])
        #expect(try executor.database.dump("SELECT code, status, driver_id, version FROM orders") == ["A|assigned|42|1"])
        #expect(
            try executor.database.dump("SELECT channel, sequence, event FROM notifications ORDER BY id")
                == [
                    "driver-42|1|job-assigned", "admin-channel|1|job-assigned", "admin-channel|2|order-assigned",
                ])
        let logged = try reply.notifications.map { try executor.notifications.notification(id: $0.id) }
        #expect(logged.allSatisfy { $0?.actor == "admin:1" && $0?.action == "assign" })
        #expect(logged.map { $0?.notification } == reply.notifications)
        #expect(
            try executor.database.dump("SELECT actor, action, order_code, status_before, status_after, driver_after FROM audit")
                == ["admin:1|assign|A|-|assigned|42"])
        #expect(try executor.database.dump("SELECT body FROM idempotency") == [reply.text])
    }

    @Test func rejectedCommandWritesNothing() throws {
        let executor = try store.executor()
        _ = try executor.commit(order(.cancel, "A"))
        let before = try executor.dispatchTables()
        let rejected = try executor.commit(assign("A", to: "42", key: "k"))
        #expect(rejected.status == 409 && rejected.error?.kind == .conflict && rejected.text == "Order A is cancelled")
        #expect(try executor.commit(command(AcceptJob("B"), by: driver("42"))).status == 404)
        #expect(try executor.commit(command(AcceptRoute("R"), by: driver("42"))).status == 404)
        let progress = ReportProgress("A", ProgressReport(step: .arrived))
        #expect(try executor.commit(command(progress, by: driver("42"))).status == 403)
        let announcement = Announcement(type: "HELLO", audience: .drivers([]), data: Array("{}".utf8))
        #expect(try executor.commit(command(Announce(announcement))).status == 400)
        #expect(try executor.dispatchTables() == before)
    }

    @Test func findsOrderByCodeThenByBooking() throws {
        let executor = try store.executor()
        var changes = OrderChanges()
        changes.bookingID = .set("B")
        // Four orders of booking B: three are open, and "last" is cancelled. An accept must name one of several open ones;
        // a report is about the newest. Later there is also an order with the code B.
        for (index, code) in ["oldest", "older", "newer"].enumerated() {
            _ = try executor.commit(assign(code, to: "42", changes: changes), at: noon + Int64(index))
        }
        _ = try executor.commit(assign("last", to: "42", changes: changes), at: noon + 9)
        _ = try executor.commit(order(.cancel, "last"), at: noon + 10)
        #expect(try executor.commit(command(AcceptJob("B"), by: driver("42"))).status == 409)
        _ = try executor.commit(command(AcceptJob("newer"), by: driver("42")))
        let first = ReportProgress("B", ProgressReport(step: .enRoute))
        #expect(try executor.commit(command(first, by: driver("42"))).order?.code == "newer")
        #expect(try executor.commit(command(AcceptJob("older"), by: driver("42"))).order?.code == "older")
        _ = try executor.commit(assign("B", to: "42"))
        #expect(try executor.commit(command(AcceptJob("B"), by: driver("42"))).order?.code == "B")
        let progress = ReportProgress("B", ProgressReport(step: .enRoute))
        #expect(try executor.commit(command(progress, by: driver("42"))).order?.code == "B")
        for code in ["oldest", "older", "newer"] { _ = try executor.commit(order(.cancel, code)) }
        changes.bookingID = .set("C")
        _ = try executor.commit(assign("done", to: "42", changes: changes))
        _ = try executor.commit(order(.cancel, "done"))
        #expect(try executor.commit(command(AcceptJob("C"), by: driver("42"))).text == "Order done is cancelled")
    }

    /// A backend that never ends its orders leaves ever more of them open.
    @Test func listsTheNewestOpenJobsOfADriver() throws {
        let executor = try store.executor()
        let count = OrderTable.listedMax + 3
        for number in 0..<count { _ = try executor.commit(assign("A\(number)", to: "42"), at: noon + Int64(number)) }
        let listed = try OrderTable(database: executor.database).open(driverID: "42").map(\.order.code)
        #expect(listed == (3..<count).map { "A\($0)" })
    }

    @Test func prefersTheDriversOwnOrderOfABooking() throws {
        let executor = try store.executor()
        var changes = OrderChanges()
        changes.bookingID = .set("B")
        _ = try executor.commit(assign("his", to: "42", changes: changes), at: noon)
        _ = try executor.commit(assign("another's", to: "7", changes: changes), at: noon + 1)
        var free = OrderAction(code: "free", .update)
        free.changes = changes
        _ = try executor.commit(command(free), at: noon + 2)
        #expect(try executor.commit(command(AcceptJob("B"), by: driver("42"))).order?.code == "his")
        #expect(try executor.commit(command(AcceptJob("B"), by: driver("7"))).order?.code == "another's")
        let progress = ReportProgress("B", ProgressReport(step: .enRoute))
        #expect(try executor.commit(command(progress, by: driver("42"))).order?.code == "his")
        #expect(try executor.commit(command(AcceptJob("B"), by: driver("9"))).order?.code == "free")
    }

    @Test func routeAndOrderMayHaveTheSameID() throws {
        let executor = try store.executor()
        let route = RouteAction(id: "A", .assign(.init(id: Identifier("42"))))
        #expect(try executor.commit(command(route)).status == 200)
        _ = try executor.commit(order(.cancel, "A"))
        let accepted = try executor.commit(command(AcceptRoute("A"), by: driver("42")))
        #expect(accepted.status == 200 && accepted.order == nil)
        #expect(try executor.database.dump("SELECT id, status, driver_id, version FROM routes") == ["A|accepted|42|2"])
        #expect(try executor.database.dump("SELECT order_code, route_id, action FROM audit ORDER BY id").last == "-|A|accept")
    }

    @Test func checksTheExpectedVersion() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42"))
        let action = OrderAction(code: "A", .cancel)
        let stale = IssuedCommand(action, by: admin, correlationID: "c", expectedVersions: [6, 7])
        #expect(try executor.commit(stale).status == 409)
        let fresh = IssuedCommand(action, by: admin, correlationID: "c", expectedVersions: [7, 1])
        #expect(try executor.commit(fresh).order?.assignment.version == 2)
    }

    @Test func openOrdersAreListedByTheirLastChange() throws {
        do {
            let executor = try store.executor()
            for (index, code) in ["C", "A", "B", "cancelled"].enumerated() {
                _ = try executor.commit(assign(code, to: "\(index)"), at: noon + Int64(index))
            }
            _ = try executor.commit(order(.cancel, "cancelled"))
            _ = try executor.commit(order(.unassign, "A"))
        }
        var open: [String] = []
        try store.executor().openOrders { open.append("\($0.code) \($0.assignment.driver?.id.text ?? "-")") }
        #expect(open == ["A -", "C 0", "B 2"])
    }

    @Test func everyFieldIsStoredUnchanged() throws {
        // PostgreSQL stores U+FFFD instead of U+0000.
        let text = "Zoë's \"place\"; DROP TABLE orders; --\(TemporaryStore.isFile ? "\u{0}" : "")\u{7F}🚚"
        var changes = OrderChanges()
        changes.bookingID = .set("B-1")
        changes.customerName = .set(text)
        changes.pickupAddress = .set(text)
        changes.dropoffAddress = .set("")
        changes.scheduledAt = .set("2026-11-21T12:00:00+01:00")
        changes.totalGBP = .set(JSONNumber(text: "1.50e1"))
        changes.pickupCoordinates = .set(coordinates("51.50740", "-0.0"))
        changes.dropoffCoordinates = .set(coordinates("-9E1", "180"))
        let written: Order?
        do { written = try store.executor().commit(assign("A", to: "42", changes: changes)).order }
        var stored: [Order] = []
        try store.executor().openOrders { stored.append($0) }
        #expect(stored == [try #require(written)])
        #expect(stored.first?.customerName?.utf8.elementsEqual(text.utf8) == true)
        #expect(stored.first?.totalGBP?.text == "1.50e1")
        #expect(stored.first?.pickupCoordinates == coordinates("51.50740", "-0.0"))
        #expect(stored.first?.dropoffCoordinates == coordinates("-9E1", "180"))
    }

    /// Ids increase even if the clock was set back while the gateway was down.
    @Test func idsIncreaseAcrossRestarts() throws {
        for now in [noon, noon - day, noon - 2 * day] {
            _ = try store.executor(at: now).commit(assign("A\(now)", to: "42"), at: now)
        }
        let database = try store.executor().database
        #expect(
            try database.dump("SELECT created_at FROM notifications WHERE channel = 'driver-42' ORDER BY id")
                == ["\(noon)", "\(noon - day)", "\(noon - 2 * day)"])
        #expect(
            try database.dump("SELECT order_code FROM audit ORDER BY id")
                == ["A\(noon)", "A\(noon - day)", "A\(noon - 2 * day)"])
    }
}
