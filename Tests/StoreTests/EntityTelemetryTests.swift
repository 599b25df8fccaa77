import Access
import Primitives
import Testing

@testable import Fleet

/// Telemetry under ids of the app's own, which is matched by the job that it names.
@Suite struct EntityTelemetryTests {
    private let store = TemporaryStore()

    private func executor() throws -> CommandExecutor {
        try store.executor {
            func rule(_ type: String) -> NotificationRules.Rule {
                NotificationRules.Rule(lifetimeSeconds: 3_600, collapsesByJob: false, dataType: type)
            }
            $0.rules = NotificationRules(rules: [
                "job-assigned": rule("new_job"), "job-cancelled": rule("job_update"), "route-assigned": rule("new_route"),
                "driver-assigned": rule("driver_assigned"), "new_batch": rule("new_batch"),
            ])
            $0.lanes = [.fcm]
        }
    }

    private func push(_ executor: CommandExecutor) throws {
        try executor.report(executor.claim().map { PushOutcome($0, .accepted(messageID: nil), wasTried: true) })
    }

    private func assignedWithBooking(_ executor: CommandExecutor, _ code: String, to driver: String = "42") throws -> String {
        var changes = OrderChanges()
        changes.bookingID = .set("BID-\(code)")
        changes.bookingReference = .set("REF-\(code)")
        changes.customerID = .set("c7")
        return try executor.commit(assign(code, to: driver, changes: changes)).notifications[0].id
    }

    @discardableResult private func report(
        _ executor: CommandExecutor, _ entity: String?, _ type: String = "new_job", _ kind: TelemetryEvent.Kind = .received,
        id: String = "0f8fad5b-d9cb-469f-a165-70867728950e", by person: Identity = driver("42")
    ) throws -> CommandReply {
        let event = TelemetryEvent(notificationID: id, type: type, entityID: entity, kind: kind, timestamp: nil)
        return try executor.commit(command(RecordTelemetry([event]), by: person), at: noon + 7)
    }

    private func steps(_ executor: CommandExecutor) throws -> [String] {
        try executor.database.dump("SELECT notification_id, step, subject, stray FROM notification_steps ORDER BY 1, 2, 3")
    }

    @Test(arguments: ["A", "BID-A", "REF-A"]) func findsTheNotificationByEachNameOfTheJob(_ entity: String) throws {
        let executor = try executor()
        _ = try executor.commit(register(fcm("f"), by: driver("42")))
        let id = try assignedWithBooking(executor, "A")
        _ = try assignedWithBooking(executor, "B")
        try push(executor)
        _ = executor.counter.drain()
        for kind in [TelemetryEvent.Kind.received, .viewed, .received] { try report(executor, entity, "new_job", kind) }
        #expect(try steps(executor) == ["\(id)|action_view_now|driver:42|0", "\(id)|received|driver:42|0"])
        let counts = executor.counter.drain()
        #expect(counts.stepsByEntity == 2 && counts.repeatedSteps == 1)
        #expect(
            counts.arrivals.keys.map { "\($0.event) \($0.state)" }.sorted() == ["job-assigned received", "job-assigned viewed"])
        #expect(!counts.pushEffects.isEmpty, "the funnel counts it")
        let rows = try executor.database.dump(
            "SELECT told_at, detail FROM notification_steps WHERE step = 'received'")
        #expect(
            rows == [
                #"2026-11-21T12:00:00.007Z|{"type":"new_job","entityId":"\#(entity)","#
                    + #""reportedAs":"0f8fad5b-d9cb-469f-a165-70867728950e","matchedBy":"entity"}"#
            ])
        // It may not be the one that the person has seen.
        let marks = "SELECT acknowledged_at, seen_at, read_at FROM notifications WHERE id = '\(id)'"
        #expect(try executor.database.dump(marks) == ["-|-|-"])
        #expect(try executor.sequences.unread(channel: "driver-42") == 2)
    }

    @Test func theTypeMustFitAndTheNewestIsMeant() throws {
        let executor = try executor()
        _ = try executor.commit(register(fcm("f"), by: driver("42")))
        let first = try assignedWithBooking(executor, "A")
        let cancelled = try executor.commit(order(.cancel, "A")).notifications.first { $0.event == "job-cancelled" }?.id ?? ""
        try push(executor)
        try report(executor, "A", "job_update")
        try report(executor, "A", "new_job")
        try report(executor, "A", "new_route", id: "other")
        #expect(
            try steps(executor)
                == [
                    "\(first)|received|driver:42|0", "\(cancelled)|received|driver:42|0", "other|received|driver:42|1",
                ].sorted())
        let again = try assignedWithBooking(executor, "B")
        _ = try executor.commit(order(.unassign, "B"))
        let newest = try assignedWithBooking(executor, "B")
        try push(executor)
        try report(executor, "B")
        #expect(try steps(executor).contains("\(newest)|received|driver:42|0"))
        #expect(try !steps(executor).contains { $0.hasPrefix(again) })
    }

    @Test func whatWasNotPushedToThisPersonIsNotMeant() throws {
        let executor = try executor()
        _ = try assignedWithBooking(executor, "A")
        _ = try executor.commit(register(fcm("f"), by: driver("42")))
        _ = try assignedWithBooking(executor, "B")  // queued: no phone can show it
        _ = try executor.commit(register(fcm("g"), by: driver("43")))
        _ = try assignedWithBooking(executor, "C", to: "43")
        for entity in ["A", "B", "C", nil] { try report(executor, entity, id: "id-\(entity ?? "-")") }
        #expect(try steps(executor).allSatisfy { $0.hasPrefix("id-") && $0.hasSuffix("|1") })
        #expect(try executor.count("notification_steps") == 4)
    }

    @Test func aKnownIDIsNotSearchedByEntity() throws {
        let executor = try executor()
        _ = try executor.commit(register(fcm("f"), by: driver("42")))
        let other = try assignedWithBooking(executor, "B")
        _ = try assignedWithBooking(executor, "A")
        try push(executor)
        try report(executor, "A", id: other)
        #expect(try steps(executor) == ["\(other)|received|driver:42|0"])
        #expect(executor.counter.drain().stepsByEntity == 0)
    }

    @Test func aCustomersMomentIsFoundInTheBooking() throws {
        let executor = try executor()
        _ = try executor.commit(register(fcm("c"), by: customer("c7")))
        _ = try assignedWithBooking(executor, "A")
        let accepted = try executor.commit(command(AcceptJob("A"), by: driver("42")))
        guard case .committed(let result) = accepted else { return }
        let id = try #require(result.notifications.first { $0.event == "driver-assigned" }?.id)
        try push(executor)
        try report(executor, "REF-A", "driver_assigned", by: customer("c7"))
        #expect(try steps(executor) == ["\(id)|received|customer:c7|0"])
    }

    @Test func whatAllDriversGotIsFound() throws {
        let executor = try executor()
        _ = try executor.commit(register(fcm("f"), by: driver("42")))
        let announcement = Announcement(type: "new_batch", audience: .everyDriver, data: Array(#"{"batchId":"B77"}"#.utf8))
        let id = try executor.commit(command(Announce(announcement))).notifications[0].id
        for _ in 0..<3 { _ = try executor.runBackgroundSlice(at: noon) }
        try push(executor)
        try report(executor, "B77", "new_batch")
        #expect(try steps(executor) == ["\(id)|received|driver:42|0"])
    }

    /// A request with a hundred events, each of which fits a hundred notifications that were not pushed.
    @Test(.fileOnly) func whatWasReadIsRemembered() throws {
        let executor = try executor()
        for number in 0..<100 {
            _ = try executor.commit(assign("A", to: number.isMultiple(of: 2) ? "42" : "43"))
            _ = try executor.commit(order(.unassign, "A"))
        }
        let events = (0..<100).map {
            TelemetryEvent(notificationID: "u\($0)", type: "new_job", entityID: "A", kind: .received, timestamp: nil)
        }
        let one = try executor.instructions { _ = try executor.commit(command(RecordTelemetry([events[0]]), by: driver("42"))) }
        let all = try executor.instructions { _ = try executor.commit(command(RecordTelemetry(events), by: driver("42"))) }
        #expect(all < one * 10, "\(one) and \(all) instructions of SQLite's virtual machine")
    }

    @Test func aRouteIsFoundByItsID() throws {
        let executor = try executor()
        _ = try executor.commit(register(fcm("f"), by: driver("42")))
        let reply = try executor.commit(command(RouteAction(id: "R-9", .assign(.init(id: Identifier("42"))))))
        let id = reply.notifications[0].id
        try push(executor)
        try report(executor, "R-9", "new_route")
        #expect(try steps(executor) == ["\(id)|received|driver:42|0"])
    }

    /// Of the newest hundred. The work of a request does not grow with the mailbox.
    @Test(.fileOnly) func theSearchIsBounded() throws {
        let executor = try executor()
        _ = try executor.commit(register(fcm("f"), by: driver("42")))
        let oldest = try assignedWithBooking(executor, "A")
        try push(executor)
        for number in 0..<99 { _ = try executor.commit(assign("X\(number)", to: "42")) }
        try report(executor, "A")
        #expect(try steps(executor) == ["\(oldest)|received|driver:42|0"])
        _ = try executor.commit(assign("X99", to: "42"))
        try report(executor, "A", "new_job", .viewed, id: "behind")
        #expect(try steps(executor).contains("behind|action_view_now|driver:42|1"))
        func work() throws -> Int {
            let events = (0..<100).map {
                TelemetryEvent(notificationID: "u\($0)", type: "new_job", entityID: "E\($0)", kind: .received, timestamp: nil)
            }
            return Int(
                try executor.instructions { _ = try executor.commit(command(RecordTelemetry(events), by: driver("42"))) })
        }
        let before = try work()
        for number in 0..<500 { _ = try executor.commit(assign("Y\(number)", to: "42")) }
        let after = try work()
        #expect(after < before * 2, "\(before) \(after) instructions of SQLite's virtual machine")
    }
}
