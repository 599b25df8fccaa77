import Testing

@testable import Fleet

/// What lanes were sending when their process ended is queued again in slices, however much it is.
@Suite struct TakeoverTests {
    private let store = TemporaryStore()
    private let count = 3 * PushOutbox.takeoverMax + 200

    /// A store in which a lane was sending very many jobs.
    private func interrupted(_ lanes: Set<PushLane> = [.fcm]) throws -> CommandExecutor {
        do {
            let executor = try store.pushing(lanes)
            try executor.database.run(
                """
                INSERT INTO push_jobs (number, lane, notification_id, device_id, recipient, state, turn, attempts, queued_at, \
                expires_at) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) \
                SELECT i, 'fcm', 'N' || i, 'd' || i, 'driver:42', 'sending', 0, 1, \(noon), \(noon + 3_600_000) FROM n
                """)
        }
        // The start takes the first slice.
        let executor = try store.pushing(lanes)
        executor.backgroundTasks = []
        return executor
    }

    private func sending(_ executor: CommandExecutor) throws -> Int {
        try executor.database.dump("SELECT 1 FROM push_jobs WHERE state = 'sending'").count
    }

    @Test func aLaneGetsJobsWhenAllAreQueuedAgain() throws {
        let executor = try interrupted()
        let first = try executor.handle(PushReport(lane: .fcm, capacity: 9, isFirst: true)).lease
        #expect(try sending(executor) == count - 2 * PushOutbox.takeoverMax)
        #expect(first.jobs.isEmpty && first.dropped == 0 && first.hasMore, "it asks again")
        #expect(try executor.handle(PushReport(lane: .fcm, capacity: 9)).lease.hasMore)
        executor.backgroundTasks = [.takeover]
        try executor.runBackgroundTasks()
        // The devices are gone, so the jobs that would be sent are cancelled.
        #expect(try executor.handle(PushReport(lane: .fcm, capacity: 9)).lease.dropped == 9)
        #expect(try sending(executor) == 0)
    }

    /// What a new worker is sending is not queued again.
    @Test func theNewWorkersJobsAreItsOwn() throws {
        let executor = try store.pushing([.fcm])
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        _ = try executor.commit(announce(to: "42"))
        #expect(try executor.handle(PushReport(lane: .fcm, capacity: 9, isFirst: true)).lease.jobs.count == 1)
        try executor.runBackgroundTasks()
        #expect(try executor.claim() == [] && sending(executor) == 1)
    }

    @Test func aRolledBackSliceIsRepeated() throws {
        let executor = try interrupted()
        #expect(throws: DatabaseError.self) {
            try executor.transaction { () throws(DatabaseError) in
                for _ in 0..<3 { _ = try executor.outbox.takeOverSome() }
                try executor.database.run("SELECT nothing")
            }
        }
        executor.backgroundTasks = [.takeover]
        try executor.runBackgroundTasks()
        #expect(try sending(executor) == 0)
    }

    /// Also of lanes that are not enabled any more, whose jobs expire then.
    @Test func theBackgroundTaskTakesAllLanes() throws {
        let executor = try interrupted([.apns])
        executor.backgroundTasks = [.takeover]
        for left in [count - 2 * PushOutbox.takeoverMax, 200] {
            #expect(try executor.runBackgroundSlice(at: noon) == [.fcm])
            #expect(try sending(executor) == left && executor.backgroundTasks == [.takeover])
        }
        #expect(try executor.runBackgroundSlice(at: noon) == [.fcm])
        #expect(try sending(executor) == 0 && executor.backgroundTasks == [])
    }

    @Test func quarantinesEndInSlices() throws {
        let executor = try store.pushing([.fcm])
        try executor.database.run(
            """
            INSERT INTO devices (id, provider, owner, sealed, key_id, masked, registered_at, last_seen_at, quarantined_at) \
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) \
            SELECT 'd' || i, 'fcm', 'driver:42', \(executor.database.sqlite == nil ? "''::bytea" : "x''"), 'k1', 'm', 1, 1, 1 FROM n
            """)
        executor.backgroundTasks = [.takeover]
        #expect(try executor.runBackgroundTasks() == 4)
        #expect(try executor.database.dump("SELECT 1 FROM devices WHERE quarantined_at IS NOT NULL").isEmpty)
    }

    /// The log of a cluster is deleted in slices.
    @Test func theClustersLogIsDeletedInSlices() throws {
        let database = try store.executor().database
        let table = ClusterTable(database: database)
        try database.run(
            """
            INSERT INTO cluster_log (position, epoch, committed_at, record) \
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25) \
            SELECT i, 'e', i, \(database.sqlite == nil ? "''::bytea" : "x''") FROM n
            """)
        #expect(try [10, 10, 3, 0].allSatisfy { try table.deleteOld(before: 24, most: 10) == $0 })
        #expect(try table.entries(after: 0).map(\.position) == [24, 25])
    }
}
