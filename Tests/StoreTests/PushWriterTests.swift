import CSQLite
import Testing
import Threads

@testable import Fleet

/// Reports of lanes to the writer, and how they share transactions with commands.
@Suite struct PushWriterTests {
    private let store = TemporaryStore()

    private func harness(
        queueMax: Int = 100_000,
        onOpen: @escaping @Sendable (CommandExecutor) throws(DatabaseError) -> Void = { _ throws(DatabaseError) in },
        onCommit: @escaping @Sendable (Commit) -> Void = { _ in }
    ) throws(StoreError) -> WriterHarness {
        try WriterHarness(
            store, queueMax: queueMax, onOpen: onOpen, onCommit: onCommit,
            changing: {
                $0.rules = pushingRules
                $0.lanes = [.fcm, .apns]
            })
    }

    private static func report(_ outcomes: [PushOutcome] = [], capacity: Int = 100) -> PushReport {
        PushReport(lane: .fcm, outcomes: outcomes, capacity: capacity)
    }

    @Test func leasesAndRecordsAPush() throws {
        let harness = try harness()
        _ = harness.execute(register(fcm("a"), by: driver("42")))
        let result = try #require(harness.execute(assign("A", to: "42"))?.result)
        #expect(result.lanes == [.fcm])
        #expect(harness.post(Self.report()))
        let lease = try #require(harness.leases(1).first)
        #expect(lease.jobs.map(\.notification.id) == [result.notifications[0].id] && lease.lane == .fcm && !lease.hasMore)
        harness.post(Self.report([PushOutcome(lease.jobs[0], .accepted(messageID: "m"), wasTried: true)]))
        #expect(harness.leases(1).first?.jobs == [])
        harness.stop()
        #expect(!harness.post(Self.report()))
        #expect(harness.statistics.reports == 2 && harness.statistics.leased == 1 && harness.statistics.commands == 2)
        #expect(try store.pushing().jobs() == ["driver:42|accepted|"])
    }

    @Test func reportsShareCommitsWithCommands() throws {
        let barrier = StartBarrier(1)
        let harness = try harness(onCommit: pause(at: barrier))
        harness.post(register(fcm("a"), by: driver("42")), request: 7)
        barrier.waitForArrival()
        for number in 0..<20 {
            harness.post(assign("A\(number)", to: "42"))
            harness.post(Self.report(capacity: 1))
        }
        barrier.open()
        // Each report gets the job of the command before it in the same transaction.
        #expect(harness.leases(20).map(\.jobs.count) == [Int](repeating: 1, count: 20))
        #expect(harness.replies(21).count == 21)
        harness.stop()
        #expect(harness.statistics.commits == 2 && harness.statistics.reports == 20)
    }

    @Test(.fileOnly) func failingReportDoesNotAffectOthers() throws {
        let barrier = StartBarrier(1)
        let harness = try harness(
            onOpen: { (executor: CommandExecutor) throws(DatabaseError) in
                try executor.database.run(
                    """
                    CREATE TRIGGER poison BEFORE UPDATE ON push_jobs WHEN NEW.message_id = 'poison' \
                    BEGIN SELECT RAISE(ABORT, 'poisoned'); END
                    """)
            }, onCommit: pause(at: barrier))
        _ = harness.execute(register(fcm("a"), by: driver("42")))
        _ = harness.execute(announce(to: "42"))
        harness.post(Self.report())
        let job = try #require(harness.leases(1).first?.jobs.first)
        harness.post(assign("first", to: "43"), request: 7)
        barrier.waitForArrival()
        let poison = Self.report([PushOutcome(job, .accepted(messageID: "poison"), wasTried: true)])
        harness.post(assign("A", to: "42"))
        harness.post(poison)
        harness.post(assign("B", to: "42"))
        harness.post(Self.report(capacity: 9))
        barrier.open()
        #expect(harness.replies(3).map { $0.reply.status } == [200, 200, 200])
        #expect(harness.leases(1).map(\.jobs.count) == [2])
        harness.stop()
        #expect(harness.rejectedReports.withLock { $0 } == [poison])
        #expect(harness.statistics.failed == 1)
        guard case .failed(let error, "push-fcm") = harness.events.withLock({ $0 }).first else {
            Issue.record("no event")
            return
        }
        #expect(error.message == "poisoned")
    }

    @Test(.fileOnly) func reportsAreRejectedWhileTheStoreIsNotWritable() throws {
        let harness = try harness()
        _ = harness.execute(register(fcm("a"), by: driver("42")))
        _ = harness.execute(announce(to: "42"))
        let other = try Database.open(besideGateway: store.address)
        try other.run("BEGIN IMMEDIATE")
        harness.post(Self.report())
        // The writer sends the second reply after it has published the whole batch of the first one.
        for _ in 0..<2 { #expect(harness.execute(announce(to: "42"))?.isUnavailable == true) }
        try other.run("COMMIT")
        #expect(harness.rejectedReports.withLock { $0 } == [Self.report()])
        harness.post(Self.report())
        #expect(harness.leases(1).map(\.jobs.count) == [1])
        harness.stop()
    }

    @Test func fullQueueStillAcceptsReports() throws {
        let barrier = StartBarrier(1)
        let harness = try harness(
            queueMax: 2, onCommit: pause(at: barrier))
        harness.post(assign("first", to: "42"), request: 7)
        barrier.waitForArrival()
        #expect((0..<3).map { harness.post(assign("A\($0)", to: "42")) } == [true, true, false])
        #expect((0..<70).filter { _ in harness.post(Self.report()) }.count == 64)
        barrier.open()
        #expect(harness.leases(64).count == 64)
        harness.stop()
    }

    @Test func newRulesApplyFromTheNextBatch() throws {
        let harness = try harness()
        _ = harness.execute(register(fcm("a"), by: driver("42")))
        #expect(harness.execute(announce(to: "42"))?.lanes == [.fcm])
        harness.use(NotificationRules())
        #expect(harness.execute(announce(to: "42"))?.lanes == [])
        harness.use(pushingRules)
        #expect(harness.execute(announce(to: "42"))?.lanes == [.fcm])
        harness.stop()
    }

    /// The jobs of a broadcast are created without waiting for another command or report.
    @Test func broadcastIsExpandedAtOnce() throws {
        let harness = try harness()
        for number in 0..<600 { harness.post(register(fcm("\(number)"), by: driver("\(number)"))) }
        #expect(harness.replies(600).count == 600)
        #expect(harness.execute(announceToAll)?.lanes == [])
        #expect(harness.wakes(2) == [[.fcm], [.fcm]])
        harness.post(Self.report(capacity: 1_000))
        #expect(harness.leases(1).map(\.jobs.count) == [600])
        harness.stop()
    }

    @Test func unfinishedBroadcastContinuesAfterARestart() throws {
        do {
            let executor = try store.pushing()
            _ = try executor.commit(register(fcm("a"), by: driver("42")))
            _ = try executor.commit(announceToAll)
        }
        let harness = try harness()
        #expect(harness.wakes(1) == [[.fcm]])
        harness.stop()
        #expect(try store.pushing().jobs() == ["driver:42|queued|"])
    }

    @Test func laneOfAReplacementTokenIsWoken() throws {
        let harness = try harness()
        _ = harness.execute(register(fcm("old"), by: driver("42"), deviceID: "phone"))
        _ = harness.execute(announce(to: "42"))
        harness.post(Self.report())
        let job = try #require(harness.leases(1).first?.jobs.first)
        let moved = harness.execute(register(apns("abcdef0123456789"), by: driver("42"), deviceID: "phone"))?.result
        #expect(moved?.lanes == [.apns] && moved?.removed.map(\.reason) == ["replaced"])
        harness.post(
            Self.report([
                PushOutcome(
                    job, .failed(reason: "UNREGISTERED"), wasTried: true,
                    removal: DeviceRemoval(reason: "x", ifSeenBefore: noon + 1))
            ]))
        #expect(harness.wakes(1) == [[.apns]])
        harness.post(PushReport(lane: .apns, capacity: 5))
        #expect(harness.leases(2).last?.jobs.map(\.number) == [job.number])
        harness.stop()
    }

    @Test func publishesRemovedStaleDevices() throws {
        do { _ = try store.pushing().commit(register(fcm("a"), by: driver("42")), at: noon - 271 * day) }
        let harness = try harness()
        let deadline = Clock.monotonicNanoseconds() + 10_000_000_000
        var none: [WriterHarness.Reply] = []
        while harness.removed.withLock({ $0.isEmpty }), Clock.monotonicNanoseconds() < deadline {
            _ = harness.replies.take(into: &none, most: 1, waiting: 10)
        }
        harness.stop()
        #expect(
            harness.removed.withLock { $0 } == [
                RemovedDevice(
                    id: DeviceTable.id(of: fcm("a")), owner: "driver:42", provider: .fcm, maskedToken: fcm("a").masked,
                    reason: "stale")
            ])
    }

    @Test func reportsUnreadableRowsOnce() throws {
        do {
            let executor = try store.pushing()
            for id in ["42", "43"] {
                _ = try executor.commit(register(fcm(id), by: driver(id)))
                _ = try executor.commit(command(UpdatePreferences(PreferenceChanges()), by: driver(id)))
            }
            try executor.database.run("UPDATE preferences SET json = 'no'")
            _ = try executor.commit(announce(to: "42", "43"))
        }
        let harness = try harness()
        harness.post(Self.report(capacity: 1))
        harness.post(Self.report(capacity: 1))
        #expect(harness.leases(2).map(\.jobs.count) == [1, 1])
        harness.stop()
        #expect(harness.events.withLock { $0 } == [.unreadable("preferences of driver:42")])
    }
}
