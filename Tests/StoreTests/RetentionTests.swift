import Primitives
import Testing

@testable import Fleet

@Suite struct RetentionTests {
    private let store = TemporaryStore()

    /// Runs slices until no rows are left to delete.
    /// - Returns: the number of deleted rows of each slice, without slices that deleted none.
    private func runRetention(_ executor: CommandExecutor, days: Int = 30, at now: Int64) throws -> [Int] {
        var retention = RetentionSchedule(days: days)
        var counts: [Int] = []
        while retention.isDue(now) {
            let count = try retention.runSlice(executor, now).deleted
            if count > 0 { counts.append(count) }
        }
        return counts
    }

    @Test func keepsYoungRows() throws {
        let executor = try store.executor()
        let id = try executor.commit(assign("A", to: "42", key: "k")).notifications[0].id
        _ = try executor.commit(telemetry(id, by: driver("42")))
        _ = try executor.commit(order(.cancel, "A"))
        let before = try executor.dispatchTables()
        #expect(try runRetention(executor, at: noon + 2 * day - 1) == [])
        #expect(try executor.dispatchTables() == before)
        #expect(try runRetention(executor, at: noon + 2 * day) == [1])  // the response stored for the idempotency key
        #expect(try runRetention(executor, at: noon + 30 * day) == [])
    }

    @Test func deletesOldRowsExceptOpenOrders() throws {
        let executor = try store.executor()
        let id = try executor.commit(assign("A", to: "42", key: "k")).notifications[0].id
        _ = try executor.commit(telemetry(id, by: driver("42")))
        _ = try executor.commit(telemetry("unknown", by: driver("42")))
        _ = try executor.commit(order(.cancel, "A"))
        var route = RouteAction(id: "R", .cancel)
        route.fallbackDriver = Identifier("42")
        _ = try executor.commit(command(route))
        _ = try executor.commit(assign("open", to: "42"))
        _ = try executor.commit(assign("young", to: "42"), at: noon + 20 * day)
        _ = try executor.commit(telemetry(id, .viewed, by: driver("42")), at: noon + 20 * day)
        _ = try runRetention(executor, at: noon + 30 * day + 1)
        #expect(try executor.database.dump("SELECT code FROM orders ORDER BY code") == ["open", "young"])
        #expect(try executor.count("routes") == 0)
        #expect(try executor.count("notifications") == 3)
        // The young step `viewed` is deleted, too, with its old notification.
        #expect(try executor.count("notification_steps") == 0)
        #expect(try executor.database.dump("SELECT order_code FROM audit") == ["young"])
        #expect(try executor.count("idempotency") == 0)
    }

    @Test func deletesInSlices() throws {
        let executor = try store.executor()
        try executor.transaction { () throws(DatabaseError) in
            for number in 0..<401 { _ = try executor.execute(assign("A\(number)", to: "42"), now: noon + Int64(number)) }
        }
        let now = noon + 31 * day
        #expect(try runRetention(executor, at: now) == [500, 401, 500, 203])
        #expect(try executor.count("notifications") == 0)
        var retention = RetentionSchedule(days: 30)
        while retention.isDue(now) { #expect(try retention.runSlice(executor, now).deleted == 0) }
        #expect(!retention.isDue(now + 59_999) && retention.isDue(now + 60_000))
        #expect(retention.isDue(now - day), "a clock that was set back does not prolong the pause")
    }

    @Test func sequenceNumbersAreNeverReused() throws {
        var last: [String: Int] = [:]
        for round in 0..<4 {
            let executor = try store.executor()
            let now = noon + Int64(round) * 40 * day
            let notifications = try executor.commit(assign("A\(round)", to: "42"), at: now).notifications
            _ = try executor.commit(order(.cancel, "A\(round)"), at: now)
            #expect(notifications.count == 3)
            for row in try executor.database.dump(
                "SELECT channel, sequence FROM notifications WHERE created_at = \(now) ORDER BY id")
            {
                let parts = row.split(separator: "|")
                let (channel, sequence) = (String(parts[0]), try #require(Int(parts[1])))
                #expect(sequence == last[channel, default: 0] + 1, "\(channel)")
                last[channel] = sequence
            }
            _ = try runRetention(executor, at: now + 31 * day)
            #expect(try executor.count("notifications") == 0)
        }
        #expect(last["driver-42"] == 12 && last["admin-channel"] == 12)
    }

    @Test func deletesOnlyChannelsOfBookings() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42"))
        _ = try executor.commit(order(.cancel, "A"))
        let channels = { try executor.database.dump("SELECT channel FROM channel_sequences ORDER BY channel") }
        _ = try runRetention(executor, at: noon + 366 * day)
        #expect(try channels() == ["admin-channel", "driver-42", "drivers-channel", "tracking-A"])
        _ = try runRetention(executor, days: 300, at: noon + 367 * day)
        #expect(try channels().contains("tracking-A"), "kept for twice the retention if that is longer than a year")
        _ = try runRetention(executor, at: noon + 367 * day)
        #expect(try channels() == ["admin-channel", "driver-42", "drivers-channel"])
    }

    /// A kind of which there is always more does not keep the others waiting.
    @Test func kindsTakeTurns() throws {
        let executor = try store.executor()
        try executor.transaction { () throws(DatabaseError) in
            for number in 0..<1_200 { _ = try executor.execute(assign("A\(number)", to: "42", key: "k\(number)"), now: noon) }
        }
        _ = try executor.commit(assign("cancelled", to: "42"))
        _ = try executor.commit(order(.cancel, "cancelled"))
        var retention = RetentionSchedule(days: 30)
        for _ in CommandExecutor.RetentionKind.allCases { _ = try retention.runSlice(executor, noon + 31 * day) }
        #expect(
            try executor.count("idempotency") == 700 && executor.database.dump("SELECT code FROM orders WHERE code > 'c'") == [])
    }

    /// A notification for all drivers has rows of each of them, and is deleted after all of them.
    @Test func whatBelongsToABroadcastIsDeletedInSlices() throws {
        let executor = try store.pushing()
        let id = try executor.commit(announceToAll).notifications[0].id
        let number = "(SELECT MAX(number) FROM notifications)"
        try executor.transaction { () throws(DatabaseError) in
            for driver in 0..<1_100 {
                try executor.database.run(
                    "INSERT INTO notification_steps (notification_id, step, subject, at, stray) "
                        + "VALUES ('\(id)', 'received', 'driver:\(driver)', \(noon), 0)")
                try executor.database.run(
                    "INSERT INTO push_outcomes (number, device, round, recipient, state, attempts, queued, settled) "
                        + "VALUES (\(number), CAST('d\(driver)' AS \(TemporaryStore.isFile ? "BLOB" : "BYTEA")), 0, "
                        + "'driver:\(driver)', 12, 1, 0, 9)")
            }
        }
        var removed: [RemovedDevice] = []
        var counts: [String] = []
        repeat {
            let count = try executor.transaction { () throws(DatabaseError) in
                try executor.deleteExpired(
                    .notifications, now: noon + 31 * day, lifetime: 30 * day, limit: 500, &removed)
            }
            counts.append(
                try ["push_outcomes", "notification_steps", "notifications"].map { "\(try executor.count($0))" }
                    .joined(separator: " "))
            if count < 500 { break }
        } while counts.count < 20
        #expect(counts == ["600 1100 1", "100 1100 1", "0 600 1", "0 100 1", "0 0 0"])
    }

    @Test(.fileOnly) func retriesAfterAFailure() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42", key: "k"))
        try executor.database.run("PRAGMA query_only = 1")
        var retention = RetentionSchedule(days: 30)
        let now = noon + 40 * day
        #expect(throws: DatabaseError.self) { try retention.runSlice(executor, now) }
        #expect(!retention.isDue(now) && retention.isDue(now + 5000))
        try executor.database.run("PRAGMA query_only = 0")
        while try retention.runSlice(executor, now + 5000).deleted == 0 {}
        while retention.isDue(now + 5000) { _ = try retention.runSlice(executor, now + 5000) }
        #expect(try executor.count("idempotency") == 0, "the table whose deletion failed at first is emptied later")
    }

    @Test(.fileOnly) func failureInOneTableDoesNotStopOthers() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42", key: "k"))
        _ = try executor.commit(order(.cancel, "A"))
        try executor.database.run(
            "CREATE TRIGGER poison BEFORE DELETE ON notifications BEGIN SELECT RAISE(ABORT, 'poisoned'); END")
        var retention = RetentionSchedule(days: 30)
        var now = noon + 40 * day
        var failures = 0
        for _ in 0..<40 {
            do throws(DatabaseError) { _ = try retention.runSlice(executor, now) } catch {
                failures += 1
                now += 5_000
            }
        }
        #expect(failures > 1)
        #expect(try executor.count("orders") == 0 && executor.count("notifications") > 0)
    }

    /// The later rows are deleted, the more of the writer's time retention takes.
    @Test func lagDecidesHowOftenASliceRuns() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42"))
        var seen: [Int64: Int] = [:]
        for lag in [-day, 0, hour - 1, hour, day - 1, day] {
            var retention = RetentionSchedule(days: 30, sliceMilliseconds: RetentionSchedule.sliceMillisecondsMax)
            _ = try retention.runSlice(executor, noon + 30 * day + lag)
            #expect(retention.lag == max(0, lag))
            seen[lag] = retention.batchesBetweenSlices
        }
        #expect(seen == [-day: 8, 0: 8, hour - 1: 8, hour: 2, day - 1: 2, day: 1])
    }

    /// A slice that takes longer than it should makes the next ones smaller; the first of a kind is small.
    @Test func slicesBeginSmall() throws {
        let executor = try store.executor()
        try executor.transaction { () throws(DatabaseError) in
            for number in 0..<40 { _ = try executor.execute(assign("A\(number)", to: "42"), now: noon) }
        }
        var retention = RetentionSchedule(days: 30, sliceMilliseconds: RetentionSchedule.sliceMillisecondsMax)
        var slices: [Int] = []
        while retention.isDue(noon + 31 * day) {
            let deleted = try retention.runSlice(executor, noon + 31 * day).deleted
            if deleted > 0 { slices.append(deleted) }
        }
        #expect(slices.first == 25 && slices.allSatisfy { $0 <= 100 } && slices.reduce(0, +) == 160)
        #expect(try executor.count("notifications") == 0 && executor.count("audit") == 0)
    }
}
