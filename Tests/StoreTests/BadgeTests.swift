import TestSupport
import Testing

@testable import Fleet

/// The badge is the number on the app's icon, which each push contains: the number of the person's unread
/// notifications. The store updates this number with each change instead of counting.
@Suite struct BadgeTests {
    private let store = TemporaryStore()

    /// Leases the queued jobs (at most 100) and returns the badge of the last one; nil if there is no job.
    private func badge(_ executor: CommandExecutor, at now: Int64 = noon) throws -> Int? {
        try executor.claim(100, at: now).last?.badge
    }

    @Test func countsNotificationsNeitherReadNorActedUpon() throws {
        let executor = try store.pushing()
        let me = driver("42")
        _ = try executor.commit(register(fcm("a"), by: me))
        var ids: [String] = []
        for expected in 1...4 {
            ids += try executor.commit(announce(to: "42")).notifications.map(\.id)
            #expect(try badge(executor) == expected)
        }
        // Measures the number of unread notifications: pushes one more, subtracts 1 from the badge of this push, and
        // marks the new notification as read.
        let next = {
            let id = try executor.commit(announce(to: "42")).notifications[0].id
            let badge = try badge(executor)
            _ = try executor.commit(command(MarkRead([id]), by: me))
            return badge.map { $0 - 1 }
        }
        #expect(try next() == 4)
        _ = try executor.commit(telemetry(ids[0], .received, by: me))
        #expect(try next() == 4, "received is not read")
        for _ in 0..<2 {
            _ = try executor.commit(telemetry(ids[0], .viewed, by: me))
            #expect(try next() == 3)
            _ = try executor.commit(telemetry(ids[0], .dismissed, by: me))
            #expect(try next() == 3, "one notification counts once")
        }
        _ = try executor.commit(telemetry(ids[1], .accepted, by: driver("43")))
        _ = try executor.commit(telemetry("unknown", .accepted, by: me))
        #expect(try next() == 3, "a report by another person, or about another notification, does not count")
        for _ in 0..<2 {
            _ = try executor.commit(command(MarkRead([ids[0], ids[1], ids[1], "unknown"]), by: me))
            #expect(try next() == 2)
        }
        _ = try executor.commit(command(MarkRead(nil), by: me))
        #expect(try next() == 0)
        _ = try executor.commit(telemetry(ids[3], .accepted, by: me))
        #expect(try next() == 0, "already read")
    }

    @Test func isAtLeastOne() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        _ = try executor.commit(announce(to: "42"))
        _ = try executor.commit(command(MarkRead(nil), by: driver("42")))
        #expect(try badge(executor) == 1)
    }

    /// The store counts the unread notifications of the channel `customer-7`. The third push is about a notification of
    /// the booking's channel, so the badge is one higher than that count.
    @Test func includesTheNotificationOfAnotherChannel() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("a"), by: customer("7", bookings: ["A"])))
        for _ in 0..<2 {
            let announcement = Announcement(type: "HELLO", audience: .customer("7"), data: Array("{}".utf8))
            _ = try executor.commit(command(Announce(announcement)))
        }
        _ = try executor.claim()
        _ = try executor.commit(assign("A", to: "42"))
        _ = try executor.commit(order(.removeDriver, "A"))
        #expect(try badge(executor) == 3)
    }

    @Test func retentionSubtractsDeletedNotifications() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        for moment in [noon, noon, noon + day] { _ = try executor.commit(announce(to: "42"), at: moment) }
        let now = noon + 30 * day + 1
        var retention = RetentionSchedule(days: 30)
        while retention.isDue(now) { _ = try retention.runSlice(executor, now) }
        _ = try executor.commit(announce(to: "42"), at: now)
        #expect(try badge(executor, at: now) == 2)
    }

    /// The migration to version 2 computes `unread` and `seen_at` from the rows that version 1 stored.
    @Test func migrationCountsExistingNotifications() throws {
        do {
            let database = try Database.open(
                store.address, durability: .normal, now: noon, migrations: Migrations([Schema.migrations[0]]))
            let channels = ["driver-42", "driver-42", "driver-42", "driver-42", "customer-7", "customer-7", "drivers-channel"]
            for (number, channel) in channels.enumerated() {
                try database.run(
                    """
                    INSERT INTO notifications VALUES ('N\(number)', '\(channel)', \(number), 'e', '{}', 'c', 'a', 'b', 1, 2, \
                    'k', \(number == 0 ? "5" : "NULL"))
                    """)
            }
            for channel in Set(channels) { try database.run("INSERT INTO channel_sequences VALUES ('\(channel)', 9, 0, 1)") }
            for step in [
                "'N1', 'action_accept', 'driver:42', 3", "'N1', 'received', 'driver:42', 2", "'N2', 'received', 'driver:42', 2",
                "'N3', 'action_accept', 'driver:43', 2", "'N4', 'action_dismiss', 'customer:7', 2",
                "'N6', 'action_accept', 'driver:s-channel', 2",
            ] {
                try database.run("INSERT INTO notification_steps VALUES (\(step), NULL, NULL)")
            }
        }
        let executor = try store.executor()
        #expect(
            try executor.database.dump("SELECT channel, unread FROM channel_sequences ORDER BY channel")
                == ["customer-7|1", "driver-42|2", "drivers-channel|1"])
        #expect(
            try executor.database.dump("SELECT id, seen_at FROM notifications WHERE seen_at IS NOT NULL ORDER BY id")
                == ["N1|3", "N4|2"])
    }

    @Test(arguments: 1...10) func equalsTheCountOfUnreadRows(seed: UInt64) throws {
        var dice = SplitMix(seed: seed)
        let executor = try store.pushing()
        let people = ["1", "2", "3"].map(driver)
        var ids: [String] = ["unknown"]
        var now = noon
        for _ in 0..<300 {
            now += Int64.random(in: 0...day, using: &dice)
            let one = people.randomElement(using: &dice) ?? people[0]
            switch Int.random(in: 0..<10, using: &dice) {
            case 0..<4: ids += try executor.commit(announce(to: one.id), at: now).notifications.map(\.id)
            case 4..<7:
                let kind = TelemetryEvent.Kind.allCases.randomElement(using: &dice) ?? .received
                _ = try executor.commit(telemetry(ids.randomElement(using: &dice) ?? "", kind, by: one), at: now)
            case 7:
                _ = try executor.commit(command(MarkRead(nil), by: one), at: now)
                if Bool.random(using: &dice) { try executor.runBackgroundTasks(at: now) }
            case 8:
                let some = (0..<3).map { _ in ids.randomElement(using: &dice) ?? "" }
                _ = try executor.commit(command(MarkRead(some), by: one), at: now)
            default:
                var gone: [RemovedDevice] = []
                var count = 0
                // A notification whose steps are deleted follows them.
                repeat {
                    count = try executor.transaction { () throws(DatabaseError) in
                        try executor.deleteExpired(.notifications, now: now, lifetime: 30 * day, limit: 3, &gone)
                    }
                } while count == 3
            }
            for person in people {
                let counted = try executor.database.dump(
                    """
                    SELECT COUNT(*) FROM notifications WHERE channel = '\(person.channel)' AND read_at IS NULL \
                    AND NOT \(ReadMarkTable.coversNotification) AND NOT EXISTS (SELECT 1 FROM notification_steps WHERE notification_id = id AND step LIKE 'action_%' \
                    AND subject = '\(person.key)')
                    """)
                try #require(try "\(executor.sequences.unread(channel: person.channel))" == counted[0])
            }
        }
    }
}
