import Access
import JSON
import Primitives
import Testing

@testable import Fleet

/// An erasure also removes what other people wrote about the person.
@Suite struct ErasureSearchTests {
    private let store = TemporaryStore()

    private func erase(_ role: Role, _ id: String) -> IssuedCommand { command(Erase(role, id: id), correlationID: "c-e") }

    /// The content of all tables, one row per line.
    private func everything(_ executor: CommandExecutor) throws -> String {
        let tables = try executor.database.tableNames()
        return try tables.flatMap { try executor.database.dump("SELECT * FROM \($0)") }.joined(separator: "\n")
    }

    /// Assigns an order of the customer Carl Qwerty (7), who lives at 17 Secret Street, to the driver Dana Zyxwv (42).
    private func place(_ code: String, _ executor: CommandExecutor, at now: Int64 = noon) throws {
        var action = OrderAction(code: code, .assign(.init(id: Identifier("42"), name: "Dana Zyxwv")))
        action.changes.customerID = .set("7")
        action.changes.customerName = .set("Carl Qwerty")
        action.changes.dropoffAddress = .set("17 Secret Street")
        _ = try executor.commit(command(action), at: now)
    }

    private func cancel(_ code: String, reason: String, _ executor: CommandExecutor) throws {
        var action = OrderAction(code: code, .cancel)
        action.reason = reason
        _ = try executor.commit(command(action, key: "cancel-\(code)"))
    }

    private let words = "Dana Zyxwv called in sick; Carl Qwerty of 17 Secret Street agreed"

    @Test func wordsOfOthersContainNoNamesAndAddresses() throws {
        let executor = try store.pushing()
        try place("A", executor)
        try cancel("A", reason: words, executor)
        // To another driver; what this driver's phone and the driver then say about it; and to another customer.
        let data = Array(#"{"message":"\#(words)","dropoffAddress":"9 Other Street"}"#.utf8)
        _ = try executor.commit(command(Announce(Announcement(type: "HELLO", audience: .drivers(["43"]), data: data)), key: "k"))
        _ = try executor.commit(command(Announce(Announcement(type: "HELLO", audience: .customer("8"), data: data))))
        let step = TelemetryEvent(
            notificationID: "N", type: "new_job", entityID: "B-1", kind: .received, timestamp: "2026-11-21T11:59:59Z",
            metadata: Array(#"{"title":"\#(words)"}"#.utf8))
        _ = try executor.commit(command(RecordTelemetry([step]), by: driver("43")))
        _ = try executor.commit(assign("B", to: "43"))
        _ = try executor.commit(command(AcceptJob("B"), by: driver("43")))
        var report = ProgressReport(step: .enRoute)
        report.notes = words
        _ = try executor.commit(command(ReportProgress("B", report), by: driver("43"), key: "progress"))
        let before = try everything(executor)
        #expect(before.contains(#""title":"Dana"#) && before.contains(#""notes":"Dana"#))

        _ = try executor.commit(erase(.driver, "42"))
        _ = try executor.commit(erase(.customer, "7"))
        try executor.runBackgroundTasks()
        let after = try everything(executor)
        for text in ["Zyxwv", "Qwerty", "Secret"] { #expect(!after.contains(text), "\(text)") }
        let left = "[erased] called in sick; [erased] of [erased] agreed"
        #expect(try executor.database.dump("SELECT reason FROM audit WHERE reason IS NOT NULL") == [left])
        #expect(after.contains(#""title":"\#(left)""#) && after.contains(#""notes":"\#(left)""#))
        #expect(after.contains("9 Other Street"), "other people's addresses stay")
        #expect(try executor.count("erasures") == 0)
    }

    /// The driver's JWT contains a name that no order has. The search finds it in the last notification.
    @Test func nameThatTheSearchFindsIsReplacedInWhatWasSearchedBefore() throws {
        let executor = try store.pushing()
        let dana = Identity(role: .driver, id: "42", name: "Dana Z.")
        _ = try executor.commit(assign("A", to: "42"))
        let data = Array(#"{"message":"Dana Z. is late"}"#.utf8)
        _ = try executor.commit(command(Announce(Announcement(type: "HELLO", audience: .drivers(["43"]), data: data))))
        _ = try executor.commit(command(AcceptJob("A"), by: dana), at: noon + 1)
        try cancel("A", reason: "Dana Z. is late", executor)
        // The order's copy of the name is gone: the name is known from notifications only.
        try executor.database.run("UPDATE orders SET driver_name = NULL")
        _ = try executor.commit(erase(.driver, "42"), at: noon + 2)
        try executor.runBackgroundTasks()
        #expect(try !everything(executor).contains("Dana"))
    }

    /// The customer's next order goes to the same address. The driver needs it until that order has ended, too.
    @Test func addressOfAnOpenOrderStays() throws {
        let executor = try store.pushing()
        try place("A", executor)
        try cancel("A", reason: "moved", executor)
        try place("B", executor)
        let data = Array(#"{"message":"Bring the key to 17 Secret Street"}"#.utf8)
        _ = try executor.commit(command(Announce(Announcement(type: "HELLO", audience: .drivers(["42"]), data: data))))
        _ = try executor.commit(erase(.customer, "7"))
        try executor.runBackgroundTasks()
        let left = try executor.database.notificationData().filter { $0.contains("17 Secret Street") }
        #expect(left.contains { $0.contains("Bring the key") } && left.contains { $0.contains(#""bookingReference":"B""#) })
        #expect(!left.contains { $0.contains(#""bookingReference":"A""#) })
        try cancel("B", reason: "moved", executor)
        var retention = RetentionSchedule(days: 30)
        while retention.isDue(noon + 1) { _ = try retention.runSlice(executor, noon + 1) }
        try executor.runBackgroundTasks()
        #expect(try !everything(executor).contains("Secret"))
    }

    /// A slice searches about 500 rows of a table, so that commands do not wait long. After a kill, the search continues
    /// where it stopped.
    @Test func searchesInSlicesAndContinuesAfterARestart() throws {
        do {
            let executor = try store.pushing()
            try place("A", executor)
            try executor.transaction { () throws(DatabaseError) in
                for number in 0..<1_200 {
                    var action = OrderAction(code: "B\(number)", .update)
                    action.reason = "for Dana Zyxwv"
                    _ = try executor.execute(command(action), now: noon + 1)
                    let step = TelemetryEvent(
                        notificationID: "N\(number)", type: "new_job", entityID: "B", kind: .received, timestamp: "",
                        metadata: Array(#"{"title":"Dana Zyxwv"}"#.utf8))
                    _ = try executor.execute(command(RecordTelemetry([step]), by: driver("\(100 + number / 600)")), now: noon + 1)
                }
            }
            _ = try executor.commit(erase(.driver, "42"), at: noon + 2)
        }
        var left: [String] = []
        var slices = 0
        while slices < 20, left.last != "0|0" {
            let executor = try store.pushing()
            _ = try executor.runBackgroundSlice(at: noon)  // ends the task for broadcasts, because there are none
            _ = try executor.runBackgroundSlice(at: noon)
            slices += 1
            let audit = try executor.database.dump("SELECT COUNT(*) FROM audit WHERE reason LIKE '%Dana%'")[0]
            let steps = try executor.database.dump("SELECT COUNT(*) FROM notification_steps WHERE detail LIKE '%Dana%'")[0]
            left.append("\(audit)|\(steps)")
        }
        // The first audit entry is that of the assignment, and has no reason.
        #expect(left == ["701|1200", "201|1200", "0|700", "0|200", "0|0"])
    }
}
