import Access
import Primitives
import Testing

@testable import Fleet

/// What requests declare is a bound, and no loose one. In debug builds, each suite that executes a request checks that it
/// writes no more rows than it declares.
@Suite struct RowBoundTests {
    private let store = TemporaryStore()
    private let customers = (0..<5).map { customer("\($0)", bookings: ["A", "B"]) }

    /// People with as many devices as a person may have: two drivers, and the customers of two bookings.
    private func crowd() throws -> CommandExecutor {
        let executor = try store.executor {
            $0.lanes = [.fcm]
            $0.rules = NotificationRules(.builtIn, mode: .mirror, eventBytesMax: 10_240)
        }
        try executor.transaction { () throws(DatabaseError) in
            for person in [driver("42"), driver("43")] + customers {
                for number in 0..<DeviceRegistration.devicesMax {
                    _ = try executor.execute(register(fcm("\(person.key)-\(number)"), by: person), now: noon)
                }
            }
        }
        executor.backgroundTasks = []
        return executor
    }

    /// The greatest number of rows that each command has written, and what it has declared then.
    private struct Seen {
        var rows: [String: (written: Int, declared: Int)] = [:]

        mutating func commit(_ command: IssuedCommand, _ executor: CommandExecutor) throws {
            let start = executor.database.totalChangedRows
            let reply = try executor.commit(command)
            #expect(reply.status == 200, "\(command.command.name) \(reply.text)")
            // With the channels' numbers, which the transaction writes last.
            let written = Int(executor.database.totalChangedRows - start)
            if written >= rows[command.command.name]?.written ?? 0 {
                rows[command.command.name] = (written, command.rows)
            }
        }
    }

    /// The worst cases that people can cause. What is declared is within a small factor of them.
    @Test(.fileOnly) func areTight() throws {
        let executor = try crowd()
        var seen = Seen()
        for code in ["A", "B"] {
            for driver in ["42", "43", "42"] { try seen.commit(assign(code, to: driver, key: "\(code)\(driver)"), executor) }
        }
        try seen.commit(order(.removeDriver, "A"), executor)
        for code in ["A", "B"] {
            try seen.commit(assign(code, to: "42"), executor)
            try seen.commit(command(AcceptJob(code), by: driver("42"), key: code), executor)
            for step in [JobStatus.enRoute, .arrived, .loading, .inTransit, .unloading, .completed] {
                let report = command(
                    ReportProgress(code, ProgressReport(step: step)), by: driver("42"), key: code + step.rawValue)
                try seen.commit(report, executor)
            }
        }
        let ids = try (0..<100).map { _ in try executor.commit(announce(to: "42")).notifications[0].id }
        let drivers = (0..<50).map(String.init)
        try seen.commit(
            command(Announce(Announcement(type: "HELLO", audience: .drivers(drivers), data: Array("{}".utf8)))), executor)
        let events = ids.map {
            TelemetryEvent(
                notificationID: $0, type: "new_job", entityID: "A", kind: .viewed, timestamp: "2026-11-21T11:59:59Z",
                metadata: nil)
        }
        try seen.commit(command(RecordTelemetry(events), by: driver("42")), executor)
        try seen.commit(command(MarkRead(ids), by: driver("42"), key: "r"), executor)
        try seen.commit(command(MarkRead(nil), by: driver("42")), executor)
        for number in 0..<3 { try seen.commit(register(fcm("new-\(number)"), by: customers[0]), executor) }
        try seen.commit(unregister(fcm("new-2"), by: customers[0]), executor)
        try seen.commit(command(Erase(.driver, id: "42")), executor)
        for (name, rows) in seen.rows.sorted(by: { $0.key < $1.key }) {
            #expect(rows.written <= rows.declared, "\(name): \(rows)")
        }
        // A device or a person may have hundreds of pushes that wait, those whom an announcement names twenty devices each,
        // and an erasure handles 250 rows of each kind.
        let loose = ["announce", "device_register", "device_unregister", "erase"]
        for (name, rows) in seen.rows {
            #expect(loose.contains(name) || rows.declared <= rows.written * 12, "\(name): \(rows)")
        }
    }

    @Test(.fileOnly) func receiptsDeclareWhatTheyCover() throws {
        let executor = try crowd()
        for _ in 0..<20 { _ = try executor.commit(announce(to: "42")) }
        let receipt = confirmed(phone(), upTo: 20)
        let start = executor.database.totalChangedRows
        try executor.commit(receipt)
        let written = Int(executor.database.totalChangedRows - start)
        let declared = StoreWriter.Request.receipts([receipt]).rows
        #expect(written <= declared && declared <= 8 * written, "\(written) of \(declared)")
    }

    /// A person with very many rows is erased in slices, also by a process that is started anew.
    @Test func erasuresAreSliced() throws {
        let many = 2 * CommandExecutor.clearedMax + 10
        do {
            let executor = try store.executor()
            try executor.transaction { () throws(DatabaseError) in
                for number in 0..<many {
                    _ = try executor.execute(announce(to: "42"), now: noon)
                    _ = try executor.execute(announceToAll, now: noon)
                    _ = try executor.execute(telemetry("N\(number)", by: driver("42")), now: noon)
                }
                for channel in ["driver-42", "drivers-channel"] {
                    _ = try executor.subscribe(subscription(phone(on: channel)), now: noon)
                    _ = try executor.record(confirmed(phone(on: channel), upTo: Int64(many)), now: noon)
                }
                _ = try executor.record(confirmed(phone(of: "43", on: "drivers-channel"), upTo: 0), now: noon)
            }
            try executor.database.run(
                """
                INSERT INTO deliveries (number, owner, device, written_at) SELECT number, 'driver:43', 'phone', 1 FROM notifications WHERE channel = 'drivers-channel'
                """)
            executor.backgroundTasks = []
            let reply = try executor.commit(command(Erase(.driver, id: "42")))
            #expect(reply.text.contains(#""telemetry":\#(CommandExecutor.clearedMax)"#))
            #expect(executor.rowCounts.last <= command(Erase(.driver, id: "42")).rows)
            _ = try executor.runBackgroundSlice(at: noon)
            #expect(executor.rowCounts.last <= 9 * CommandExecutor.clearedMax)
            #expect(try executor.database.dump("SELECT COUNT(detail) FROM notification_steps") != ["0"])
        }
        let executor = try store.executor()
        // What is confirmed after the erasure stays.
        _ = try executor.commit(announce(to: "42"))
        _ = try executor.subscribe(phone())
        try executor.commit(confirmed(phone(), after: Int64(many), upTo: Int64(many) + 1))
        try executor.runBackgroundTasks()
        #expect(try executor.database.dump("SELECT COUNT(detail) FROM notification_steps") == ["0"])
        #expect(
            try executor.database.dump("SELECT channel, owner, COUNT(*) FROM \(deliveryRows) GROUP BY 1, 2 ORDER BY 1")
                == ["driver-42|driver:42|1", "drivers-channel|driver:43|\(many)"])
        #expect(try executor.count("erasures") == 0)
    }

    /// Most of very many pushes that a read mark makes needless are cancelled when their turn comes.
    @Test func veryManyNeedlessPushesAreCancelledInTurn() throws {
        let executor = try store.executor {
            $0.lanes = [.fcm]
            $0.rules = NotificationRules(.builtIn, mode: .fallback, eventBytesMax: 10_240)
        }
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        let count = PushJobTable.cancelledMax + 10
        for number in 0..<count { _ = try executor.commit(assign("A\(number)", to: "42")) }
        _ = try executor.commit(command(MarkRead(nil), by: driver("42")))
        try executor.runBackgroundTasks()
        #expect(try executor.jobs().filter { $0.hasSuffix("|queued|") }.count == 10)
        #expect(try executor.claim().isEmpty)
        #expect(try executor.jobs() == Array(repeating: "driver:42|cancelled|acknowledged", count: count))
        #expect(executor.outbox.drainFinished()[.fcm]?.cancelled == count)
    }

    @Test func countsRowsOfTransactions() {
        var counts = RowCounts()
        for rows in [0, 1, 10, 11, 30_000] { counts.add(rows) }
        #expect(counts.buckets == [2, 1, 0, 0, 0, 0, 0, 0, 0, 1] && counts.sum == 30_022)
    }

    /// A watchdog sees progress during one statement.
    @Test(.fileOnly) func longStatementsReportProgress() throws {
        let executor = try store.executor()
        var beats = 0
        executor.database.file.reportProgress { beats += 1 }
        #expect(
            try executor.database.dump(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500000) SELECT COUNT(*) FROM n")
                == ["500000"])
        #expect(beats > 5)
    }
}
