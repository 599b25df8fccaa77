import Testing

@testable import Fleet

/// Fair queueing: recipients take turns, whatever the number of their jobs.
@Suite struct PushTurnTests {
    private let store = TemporaryStore()

    /// An executor with a device for each of the drivers 0, 1, ….
    private func executor(_ drivers: Int) throws -> CommandExecutor {
        let executor = try store.pushing()
        try executor.transaction { () throws(DatabaseError) in
            for number in 0..<drivers { _ = try executor.execute(register(fcm("\(number)"), by: driver("\(number)")), now: noon) }
        }
        return executor
    }

    /// Queues `count` jobs for a driver, in one transaction.
    private func flood(_ executor: CommandExecutor, _ count: Int, to driver: String) throws {
        try executor.transaction { () throws(DatabaseError) in
            for _ in 0..<count { _ = try executor.execute(announce(to: driver), now: noon) }
        }
    }

    /// Leases jobs and returns the driver ids of their recipients.
    private func recipients(_ executor: CommandExecutor, _ capacity: Int, at now: Int64 = noon) throws -> [String] {
        try executor.claim(capacity, at: now).map { String($0.recipient.dropFirst("driver:".count)) }
    }

    @Test func longQueueOfOneRecipientDelaysNoOther() throws {
        let executor = try executor(3)
        try flood(executor, 10_000, to: "0")
        _ = try executor.commit(announce(to: "1"))
        #expect(try recipients(executor, 3) == ["0", "1", "0"])
        #expect(try recipients(executor, 50) == [String](repeating: "0", count: 50))
        _ = try executor.commit(announce(to: "2"))
        _ = try executor.commit(announce(to: "1"))
        _ = try executor.commit(announce(to: "1"))
        #expect(try recipients(executor, 6) == ["2", "1", "0", "1", "0", "0"])
    }

    @Test func recipientsTakeTurns() throws {
        let executor = try executor(4)
        for number in 0..<4 { try flood(executor, 3, to: "\(number)") }
        #expect(try recipients(executor, 99) == ["0", "1", "2", "3", "0", "1", "2", "3", "0", "1", "2", "3"])
    }

    @Test func eachDeviceTakesATurn() throws {
        let executor = try executor(2)
        for number in 0..<5 { _ = try executor.commit(register(fcm("more-\(number)"), by: driver("0"))) }
        _ = try executor.commit(announce(to: "0"))
        _ = try executor.commit(announce(to: "1"))
        #expect(try recipients(executor, 3) == ["0", "1", "0"])
    }

    /// All retries for one recipient are due at the same moment.
    @Test func retriesDoNotDelayOtherRecipients() throws {
        let executor = try executor(2)
        try flood(executor, 1_200, to: "0")
        let jobs = try executor.claim(1_200)
        try executor.report(jobs.map { PushOutcome($0, .retry(at: noon + 10, reason: "429"), wasTried: true) })
        _ = try recipients(executor, 20, at: noon + 10)
        _ = try executor.commit(announce(to: "1"), at: noon + 10)
        let next = try recipients(executor, 3, at: noon + 10)
        #expect(next.contains("1"))
        var rest = 23
        while true {
            let count = try recipients(executor, 100, at: noon + 10).count
            if count == 0 { break }
            rest += count
        }
        #expect(rest == 1_201, "no job is lost")
    }

    @Test func turnsContinueAfterARestart() throws {
        do {
            let executor = try executor(2)
            try flood(executor, 300, to: "0")
            try executor.report(executor.claim(200).map { PushOutcome($0, .accepted(messageID: nil), wasTried: true) })
        }
        let executor = try store.pushing()
        try flood(executor, 100, to: "1")
        #expect(try recipients(executor, 6) == ["0", "1", "0", "1", "0", "1"])
    }

    /// With 200,000 jobs in the queue, a claim reads only the jobs that it leases.
    @Test(.fileOnly) func claimCostDoesNotDependOnQueueLength() throws {
        let executor = try executor(1)
        let id = try executor.commit(announce(to: "0")).notifications[0].id
        let device = try executor.database.dump("SELECT id FROM devices")[0]
        try executor.database.run(
            """
            WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < 200000) \
            INSERT INTO push_jobs (number, lane, notification_id, device_id, recipient, state, turn, attempts, queued_at, \
            expires_at) SELECT n, 'fcm', '\(id)' || n, '\(device)', 'driver:' || n % 1000, 'queued', n / 1000, 0, \(noon), \(noon + 1000) \
            FROM numbers
            """)
        #expect(try executor.outbox.jobs.unsent(.fcm).depth == 200_000)
        let work = try executor.instructions { _ = try executor.claim(10) }
        #expect(work < 20_000, "\(work) instructions of SQLite's virtual machine")
    }
}
