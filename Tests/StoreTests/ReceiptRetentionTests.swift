import Testing

@testable import Fleet

/// How long deliveries and cursors are kept, and what an erasure leaves of them.
@Suite struct ReceiptRetentionTests {
    private let store = TemporaryStore()

    private func runRetention(_ executor: CommandExecutor, days: Int, at now: Int64) throws {
        var retention = RetentionSchedule(days: days)
        while retention.isDue(now) { _ = try retention.runSlice(executor, now) }
    }

    @Test func notificationsAreKeptWhileTheyAreReplayed() throws {
        let executor = try store.executor()
        let ids = try (0..<2).map { _ in try executor.commit(announce(to: "42")).notifications[0].id }
        _ = try executor.commit(telemetry(ids[0], by: driver("42")))
        try executor.commit(written(phone(), upTo: 2))
        try runRetention(executor, days: 1, at: noon + 48 * hour)
        #expect(try store.page(phone(), at: noon + 48 * hour).sequences == [2], "the other is still acknowledged")
        #expect(try executor.count(deliveryRows) == 2)
        try runRetention(executor, days: 1, at: noon + 48 * hour + 1)
        #expect(try executor.count("notifications") == 0 && executor.count(deliveryRows) == 0)
        #expect(try executor.count("notification_steps") == 0)
    }

    @Test func deliveriesAreDeletedWithTheirNotifications() throws {
        let executor = try store.executor()
        _ = try executor.commit(announceToAll)
        _ = try executor.commit(announceToAll, at: noon + 1)
        try executor.transaction { () throws(DatabaseError) in
            for number in 0..<700 {
                let key = phone(of: "\(number)", on: "drivers-channel")
                _ = try executor.subscribe(subscription(key), now: noon)
                _ = try executor.record(confirmed(key, upTo: 2), now: noon)
            }
        }
        var removed: [RemovedDevice] = []
        let delete = { () throws in
            try executor.transaction { () throws(DatabaseError) in
                try executor.deleteExpired(.notifications, now: noon + 30 * day + 1, lifetime: 30 * day, limit: 500, &removed)
            }
        }
        // In slices, so that no command waits until all drivers' rows are deleted.
        #expect(try delete() == 500)
        #expect(try executor.count("notifications") == 2 && executor.count(deliveryRows) == 900)
        // A receipt that arrives in between leaves no row behind.
        for device in ["late", "later"] { _ = try executor.subscribe(phone(device, on: "drivers-channel")) }
        try executor.commit(written(phone("late", on: "drivers-channel"), upTo: 1))
        #expect(try delete() == 1)
        #expect(try executor.database.dump("SELECT DISTINCT sequence FROM \(deliveryRows)") == ["2"])
        try executor.commit(written(phone("later", on: "drivers-channel"), upTo: 1))
        #expect(try executor.count(deliveryRows) == 700, "the notification is no longer in the log")
    }

    @Test func unusedCursorsAreDeletedAfterAYear() throws {
        let executor = try store.executor()
        _ = try executor.subscribe(phone("a"))
        _ = try executor.subscribe(phone("b"))
        _ = try executor.subscribe(phone("b"), at: noon + 2 * day)
        try runRetention(executor, days: 30, at: noon + 366 * day)
        #expect(try executor.cursorRows().count == 2)
        try runRetention(executor, days: 30, at: noon + 366 * day + 1)
        #expect(try executor.cursorRows() == ["driver-42|driver:42|b|0"])
    }

    @Test func nothingOfAnErasedPersonIsReplayed() throws {
        let executor = try store.executor()
        for _ in 0..<3 { _ = try executor.commit(announce(to: "42")) }
        _ = try executor.commit(announce(to: "43"))
        _ = try executor.commit(announceToAll)
        let all = "drivers-channel"
        for key in [phone(), phone("b"), phone(on: all), phone(of: "43"), phone(of: "43", on: all)] {
            _ = try executor.subscribe(key)
            try executor.commit(confirmed(key, upTo: 1))
        }
        _ = try executor.commit(command(Erase(.driver, id: "42")))
        let others = ["driver-43|driver:43|phone|1", "drivers-channel|driver:43|phone|1"]
        #expect(try executor.cursorRows() == others)
        #expect(try executor.database.dump("SELECT DISTINCT owner FROM \(deliveryRows)") == ["driver:43"])
        // Neither a new subscription nor a connection that still knows its cursor gets anything.
        #expect(try executor.subscribe(phone()).cursor == 3)
        #expect(try store.page(phone()) == ReplayPage(notifications: [], upTo: 3, isComplete: true, gap: nil))
        _ = try executor.commit(announce(to: "42"))
        #expect(try store.page(phone()).sequences == [4])
        // A receipt that was on its way is stored, but what was erased stays erased.
        try executor.commit(confirmed(phone("late"), upTo: 1))
        #expect(try executor.subscribe(phone("late")).cursor >= 1)
        #expect(try store.page(phone("late"), after: 1).sequences == [4])
    }

    /// The pong comes after the erasure.
    @Test func anErasedPersonHasNoDevices() throws {
        let executor = try store.executor()
        _ = try executor.commit(announce(to: "42"))
        _ = try executor.commit(command(Erase(.driver, id: "42")))
        #expect(try executor.commit(confirmed(phone(), upTo: 1)) == [])
        #expect(try executor.cursorRows() == [] && executor.count(deliveryRows) == 0)
    }

    @Test func theHistoryShowsWhatReachedWhichDevice() throws {
        let executor = try store.executor()
        let id = try executor.commit(announce(to: "42")).notifications[0].id
        _ = try executor.commit(announce(to: "42"))
        try executor.commit(written(phone("a"), upTo: 2, at: noon + 1))
        try executor.commit(
            Receipt(key: phone("b"), after: 0, upTo: 1, writtenAt: noon + 2, confirmedAt: noon + 3))
        let history = try store.response(to: .notificationHistory(notificationID: id)).get()
        let step = /"step":"([a-z]*)","at":"2026-11-21T12:00:00.00([0-9])Z","by":"driver:42","device":"([ab])"/
        #expect(
            history.matches(of: step).map { "\($0.1) \($0.2) \($0.3)" }
                == ["written 1 a", "written 2 b", "confirmed 3 b"])
    }
}
