import FleetRules
import Primitives
import Testing

@testable import Store

@Suite struct RetentionTests {
    private let room = TemporaryStore()

    /// Steps until there is nothing more to do.
    private func forget(_ ledger: CommandExecutor, days: Int = 30, at now: Int64) throws -> [Int] {
        var retention = RetentionSchedule(days: days)
        var counts: [Int] = []
        while retention.isDue(now) {
            let count = try retention.runSlice(ledger, now).deleted
            if count > 0 { counts.append(count) }
        }
        return counts
    }

    @Test func forgetsNothingThatIsYoung() throws {
        let ledger = try room.ledger()
        let id = try ledger.settle(assign("A", to: "42", key: "k")).notifications[0].id
        _ = try ledger.settle(telemetry(id, by: driver("42")))
        _ = try ledger.settle(order(.cancel, "A"))
        let before = try ledger.everything()
        #expect(try forget(ledger, at: noon + 2 * day - 1) == [])
        #expect(try ledger.everything() == before)
        #expect(try forget(ledger, at: noon + 2 * day) == [1])  // the answer
        #expect(try forget(ledger, at: noon + 30 * day) == [])
    }

    @Test func forgetsWhatIsOldAndOver() throws {
        let ledger = try room.ledger()
        let id = try ledger.settle(assign("A", to: "42", key: "k")).notifications[0].id
        _ = try ledger.settle(telemetry(id, by: driver("42")))
        _ = try ledger.settle(telemetry("unknown", by: driver("42")))
        _ = try ledger.settle(order(.cancel, "A"))
        var route = RouteAction(id: "R", .cancel)
        route.fallbackDriver = Identifier("42")
        _ = try ledger.settle(command(.route(route)))
        _ = try ledger.settle(assign("open", to: "42"))
        _ = try ledger.settle(assign("young", to: "42"), at: noon + 20 * day)
        _ = try ledger.settle(telemetry(id, .viewed, by: driver("42")), at: noon + 20 * day)
        _ = try forget(ledger, at: noon + 30 * day + 1)
        #expect(try ledger.database.dump("SELECT code FROM orders ORDER BY code") == ["open", "young"])
        #expect(try ledger.count("routes") == 0)
        #expect(try ledger.count("notifications") == 3)
        // A late word on an old notification goes with it.
        #expect(try ledger.count("notification_steps") == 0)
        #expect(try ledger.database.dump("SELECT order_code FROM audit") == ["young"])
        #expect(try ledger.count("idempotency") == 0)
    }

    @Test func goesAFewAtATime() throws {
        let ledger = try room.ledger()
        try ledger.transaction { () throws(DatabaseError) in
            for number in 0..<401 { _ = try ledger.execute(assign("A\(number)", to: "42"), now: noon + Int64(number)) }
        }
        let now = noon + 31 * day
        #expect(try forget(ledger, at: now) == [500, 500, 203, 401])
        #expect(try ledger.count("notifications") == 0)
        var retention = RetentionSchedule(days: 30)
        while retention.isDue(now) { #expect(try retention.runSlice(ledger, now).deleted == 0) }
        #expect(!retention.isDue(now + 59_999) && retention.isDue(now + 60_000))
        #expect(retention.isDue(now - day), "a clock set back does not put it off for a day")
    }

    @Test func numbersAreNeverGivenTwice() throws {
        var last: [String: Int] = [:]
        for round in 0..<4 {
            let ledger = try room.ledger()
            let now = noon + Int64(round) * 40 * day
            let notifications = try ledger.settle(assign("A\(round)", to: "42"), at: now).notifications
            _ = try ledger.settle(order(.cancel, "A\(round)"), at: now)
            #expect(notifications.count == 3)
            for row in try ledger.database.dump(
                "SELECT channel, sequence FROM notifications WHERE created_at = \(now) ORDER BY id")
            {
                let parts = row.split(separator: "|")
                let (channel, sequence) = (String(parts[0]), try #require(Int(parts[1])))
                #expect(sequence == last[channel, default: 0] + 1, "\(channel)")
                last[channel] = sequence
            }
            _ = try forget(ledger, at: now + 31 * day)
            #expect(try ledger.count("notifications") == 0)
        }
        #expect(last["driver-42"] == 12 && last["admin-channel"] == 12)
    }

    @Test func channelsOfBookingsGoInTheEndAndOthersNever() throws {
        let ledger = try room.ledger()
        _ = try ledger.settle(assign("A", to: "42"))
        _ = try ledger.settle(order(.cancel, "A"))
        let channels = { try ledger.database.dump("SELECT channel FROM channel_sequences ORDER BY channel") }
        _ = try forget(ledger, at: noon + 366 * day)
        #expect(try channels() == ["admin-channel", "driver-42", "drivers-channel", "tracking-A"])
        _ = try forget(ledger, days: 300, at: noon + 367 * day)
        #expect(try channels().contains("tracking-A"), "twice the retention, where that is longer than a year")
        _ = try forget(ledger, at: noon + 367 * day)
        #expect(try channels() == ["admin-channel", "driver-42", "drivers-channel"])
    }

    @Test func aFailureIsTriedAgainLater() throws {
        let ledger = try room.ledger()
        _ = try ledger.settle(assign("A", to: "42", key: "k"))
        try ledger.database.run("PRAGMA query_only = 1")
        var retention = RetentionSchedule(days: 30)
        let now = noon + 40 * day
        #expect(throws: DatabaseError.self) { try retention.runSlice(ledger, now) }
        #expect(!retention.isDue(now) && retention.isDue(now + 5000))
        try ledger.database.run("PRAGMA query_only = 0")
        while try retention.runSlice(ledger, now + 5000).deleted == 0 {}
        while retention.isDue(now + 5000) { _ = try retention.runSlice(ledger, now + 5000) }
        #expect(try ledger.count("idempotency") == 0, "the first kind has had its second turn")
    }

    @Test func aKindThatFailsStopsNoOther() throws {
        let ledger = try room.ledger()
        _ = try ledger.settle(assign("A", to: "42", key: "k"))
        _ = try ledger.settle(order(.cancel, "A"))
        try ledger.database.run(
            "CREATE TRIGGER poison BEFORE DELETE ON notifications BEGIN SELECT RAISE(ABORT, 'poisoned'); END")
        var retention = RetentionSchedule(days: 30)
        var now = noon + 40 * day
        var failures = 0
        for _ in 0..<40 {
            do throws(DatabaseError) { _ = try retention.runSlice(ledger, now) } catch {
                failures += 1
                now += 5_000
            }
        }
        #expect(failures > 1)
        #expect(try ledger.count("orders") == 0 && ledger.count("notifications") > 0)
    }
}
