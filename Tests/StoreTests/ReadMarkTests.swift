import Access
import Testing

@testable import Fleet

/// "Mark all as read" is one row at first. Nobody sees the difference to rows that are marked one by one.
@Suite struct ReadMarkTests {
    private let store = TemporaryStore()
    private let me = driver("42")

    private func announce(
        _ executor: CommandExecutor, _ count: Int, to driver: String = "42", at now: Int64 = noon
    ) throws -> [String] {
        try (0..<count).map { _ in
            let announcement = Announcement(type: "HELLO", audience: .drivers([driver]), data: Array("{}".utf8))
            return try executor.commit(command(Announce(announcement)), at: now).notifications[0].id
        }
    }

    private func readAll(_ executor: CommandExecutor, by person: Identity, at now: Int64) throws -> String {
        try executor.commit(command(MarkRead(nil), by: person), at: now).text
    }

    private func readTimes(of person: Identity, at now: Int64 = noon) throws -> [String] {
        let list = try store.response(to: .notifications(of: person, before: nil, limit: 50), at: now).get()
        return list.matches(of: /"readAt":(null|"[^"]*\.(\d+)Z")/).map { $0.2.map(String.init) ?? "null" }
    }

    private func replayed(_ executor: CommandExecutor) throws -> Int {
        let pending = NotificationTable.Pending(channel: "driver-42", owner: me.key, expiresAfter: noon)
        return try executor.notifications.next(pending, after: 0, limit: 100).count
    }

    /// What people and operators see, before the rows have their marks and after.
    @Test func countsAtOnceForEverybodyWhoAsks() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("a"), by: me))
        try executor.runBackgroundTasks()
        _ = try announce(executor, 3)
        #expect(try readAll(executor, by: me, at: noon + 1).contains(#""read":3}"#))
        let late = try announce(executor, 1)[0]
        #expect(try readAll(executor, by: me, at: noon + 2).contains(#""read":1}"#))
        #expect(try readAll(executor, by: me, at: noon + 3).contains(#""read":0}"#))
        let new = try announce(executor, 2)
        for isWritten in [false, true] {
            if isWritten { try executor.runBackgroundTasks() }
            #expect(try readTimes(of: me) == ["null", "null", "002", "001", "001", "001"])
            #expect(try executor.sequences.unread(channel: "driver-42") == 2)
            #expect(try replayed(executor) == 2)
            let reports = try executor.notifications.reports(
                NotificationFilter(channel: "driver-42", state: .only(.acknowledged)), before: .end, limit: 50, now: noon)
            #expect(reports.map(\.times.acknowledgedAt) == [noon + 2, noon + 1, noon + 1, noon + 1])
            let unconfirmed = try executor.notifications.unconfirmedOfDrivers(after: "", upTo: "~", createdAfter: 0)
            #expect(unconfirmed.map(\.notification.id) == new)
            #expect(try executor.notifications.unconfirmedCount(createdAfter: 0, until: noon, now: noon) == 2)
            #expect(try executor.commit(command(MarkRead([late]), by: me), at: noon + 4).text.contains(#""read":0}"#))
            _ = try executor.commit(telemetry(late, isWritten ? .dismissed : .viewed, by: me), at: noon + 5)
            #expect(try executor.sequences.unread(channel: "driver-42") == 2)
        }
        #expect(try executor.count("read_marks") == 0)
    }

    /// The marks are counted once, whenever their rows are written, also after a restart in the middle.
    @Test func isWrittenInSlicesThatARestartContinues() throws {
        let count = 2 * CommandExecutor.readMarksSlice + 100
        do {
            let executor = try store.executor()
            try executor.transaction { () throws(DatabaseError) in
                for _ in 0..<count {
                    let announcement = Announcement(type: "HELLO", audience: .drivers(["42"]), data: Array("{}".utf8))
                    _ = try executor.execute(command(Announce(announcement)), now: noon)
                }
            }
            executor.backgroundTasks = []
            _ = executor.counter.drain()
            #expect(try readAll(executor, by: me, at: noon + 1).contains(#""read":\#(count)}"#))
            #expect(executor.backgroundTasks == [.readMarks])
            _ = try executor.runBackgroundSlice(at: noon + 2)
            let written = try executor.database.dump("SELECT COUNT(*) FROM notifications WHERE read_at = \(noon + 1)")
            #expect(written == ["\(CommandExecutor.readMarksSlice)"])
            #expect(
                executor.counter.drain().arrivals.map { "\($0.state) \($1)" }.sorted()
                    == ["acknowledged \(CommandExecutor.readMarksSlice)", "read \(CommandExecutor.readMarksSlice)"])
        }
        let executor = try store.executor()
        #expect(try executor.commit(command(MarkRead(nil), by: me), at: noon + 3).text.contains(#""read":0}"#))
        _ = try announce(executor, 1)
        try executor.runBackgroundTasks()
        let rest = count - CommandExecutor.readMarksSlice
        #expect(
            executor.counter.drain().arrivals.map { "\($0.state) \($1)" }.sorted()
                == ["acknowledged \(rest)", "created 1", "read \(rest)"])
        #expect(
            try executor.database.dump("SELECT read_at, acknowledged_at, COUNT(*) FROM notifications GROUP BY 1, 2 ORDER BY 3")
                == ["-|-|1", "\(noon + 1)|\(noon + 1)|\(count)"])
        #expect(try executor.count("read_marks") == 0)
    }

    @Test func coversTheEntriesOfACustomersInbox() throws {
        let executor = try store.pushing()
        let customer = customer("7", bookings: ["A", "B"])
        _ = try executor.commit(register(fcm("7"), by: customer))
        try executor.runBackgroundTasks()
        let entries = try ["A", "B"].map { code in
            _ = try executor.commit(assign(code, to: "42"))
            return try executor.commit(order(.removeDriver, code)).notifications.first { $0.channel == "booking-\(code)" }
        }
        #expect(try readAll(executor, by: customer, at: noon + 1).contains(#""read":2}"#))
        _ = try executor.commit(assign("A", to: "42"))
        _ = try executor.commit(order(.removeDriver, "A"))
        for isWritten in [false, true] {
            if isWritten { try executor.runBackgroundTasks() }
            #expect(try readTimes(of: customer) == ["null", "001", "001"])
            let id = try #require(entries[0]?.id)
            #expect(try executor.inbox.readSteps(of: id).map { "\($0.subject) \($0.at - noon)" } == ["customer:7 1"])
            for entry in entries {
                let event = telemetry(try #require(entry?.id), isWritten ? .dismissed : .viewed, by: customer)
                _ = try executor.commit(event)
            }
            #expect(try executor.sequences.unread(channel: "customer-7") == 1)
        }
        #expect(try readAll(executor, by: customer, at: noon + 4).contains(#""read":1}"#))
    }

    /// An app that marks all as read again and again takes few rows, and loses nothing.
    @Test func hasFewRowsOfOneInbox() throws {
        let executor = try store.executor()
        executor.backgroundTasks = []
        for number in 1...Int64(ReadMarkTable.perInboxMax + 5) {
            _ = try announce(executor, 1)
            #expect(try readAll(executor, by: me, at: noon + number).contains(#""read":1}"#))
        }
        #expect(try executor.count("read_marks") == ReadMarkTable.perInboxMax)
        #expect(try replayed(executor) == 0)
        try executor.runBackgroundTasks()
        #expect(try executor.database.dump("SELECT COUNT(*), COUNT(read_at) FROM notifications") == ["13|13"])
    }

    /// A push of the `fallback` kind is not sent any more, although the rows have no marks yet.
    @Test func cancelsPushesAtOnce() throws {
        let executor = try store.executor {
            $0.lanes = [.fcm]
            $0.rules = NotificationRules(.builtIn, mode: .fallback, eventBytesMax: 10_240)
        }
        _ = try executor.commit(register(fcm("a"), by: me))
        executor.backgroundTasks = []
        _ = try executor.commit(assign("A", to: "42"))
        _ = try readAll(executor, by: me, at: noon + 1)
        #expect(try executor.claim().isEmpty)
        #expect(try executor.jobs() == ["driver:42|cancelled|acknowledged"])
    }

    /// Thousands of ids are one statement, and ids that no server accepts are unknown ids.
    @Test func marksManyIDsByOneStatement() throws {
        let executor = try store.executor()
        let ids = try announce(executor, 5) + announce(executor, 1, to: "43") + (0..<500).map { "unknown\($0)" }
        let strange = ["\u{0}", "\"", "'", "\\", "é", ""]
        let text = try executor.commit(command(MarkRead(ids + strange + ids), by: me), at: noon + 1).text
        #expect(text.contains(#""read":5}"#))
        #expect(
            try executor.database.dump("SELECT channel, read_at, acknowledged_at FROM notifications WHERE read_at IS NOT NULL")
                == Array(repeating: "driver-42|\(noon + 1)|\(noon + 1)", count: 5))
    }

    @Test func migrationCountsWhatHasNoMark() throws {
        do {
            let migrations = Migrations(Schema.migrations.filter { $0.version < 18 })
            let database = try Database.open(store.address, durability: .normal, now: noon, migrations: migrations)
            for (number, channel) in ["driver-42", "driver-42", "customer-7", "drivers-channel"].enumerated() {
                try database.run(
                    """
                    INSERT INTO notifications (id, channel, sequence, event, data, correlation_id, actor, action, created_at, \
                    expires_at, collapse_key, read_at) VALUES ('N\(number)', '\(channel)', \(number), 'e', '{}', 'c', 'a', 'b', 1, \
                    2, 'k', \(number == 0 ? "5" : "NULL"))
                    """)
            }
            for channel in ["driver-42", "customer-7", "customer-8", "drivers-channel"] {
                try database.run(
                    "INSERT INTO channel_sequences (channel, last, passing, used_at, unread) VALUES ('\(channel)', 9, 0, 1, 0)")
            }
            for (recipient, readAt) in [("customer:7", "NULL"), ("customer:8", "NULL"), ("customer:7", "5")] {
                try database.run(
                    """
                    INSERT INTO inbox_entries (recipient, notification_id, after_sequence, lifetime_end, read_at) \
                    VALUES ('\(recipient)', 'B\(readAt)', 0, 1, \(readAt))
                    """)
            }
        }
        let executor = try store.executor()
        #expect(
            try executor.database.dump("SELECT channel, unmarked FROM channel_sequences ORDER BY channel")
                == ["customer-7|2", "customer-8|1", "driver-42|1", "drivers-channel|0"])
    }
}
