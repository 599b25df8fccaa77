import Testing
import Threads

@testable import Fleet

/// What the writer publishes after a commit, and that a failure of one task or command does not affect the others.
@Suite(.timeLimit(.minutes(5))) struct ClusterCommitOrderTests {
    private let store = TemporaryStore()

    private func harness(
        onOpen: @escaping @Sendable (CommandExecutor) throws(DatabaseError) -> Void = { _ throws(DatabaseError) in },
        onCommit: @escaping @Sendable (Commit) -> Void = { _ in }
    ) throws(StoreError) -> WriterHarness {
        try WriterHarness(
            store, onOpen: onOpen, onCommit: onCommit,
            changing: {
                $0.rules = pushingRules
                $0.lanes = [.fcm]
            })
    }

    /// `CommitPublisher` publishes the leases of a commit before its replies. Here a lane's report leases a job for a
    /// device, and the next command of the same transaction gives the device a new owner. If the reply were published
    /// before the lease, the lane would first drop the device's jobs, then receive the leased job, and send it to the
    /// new owner.
    @Test func commitContainsLeaseAndReplyOfItsTransaction() throws {
        let barrier = StartBarrier(1)
        let commits = Lock<[Commit]>([])
        let harness = try harness(onCommit: { commit in
            commits.withLock { $0.append(commit) }
            pause(at: barrier)(commit)
        })
        _ = harness.execute(register(fcm("a"), by: driver("42")))
        harness.post(announce(to: "42"), request: 7)
        barrier.waitForArrival()
        harness.post(PushReport(lane: .fcm, capacity: 9))
        harness.post(register(fcm("a"), by: driver("43")))
        barrier.open()
        #expect(harness.replies(2).flatMap(\.reply.removed).map(\.owner) == ["driver:42"])
        harness.stop()
        #expect(harness.statistics.commits == 3)
        let last = try #require(commits.withLock { $0 }.last { !$0.replies.isEmpty })
        #expect(last.leases.map(\.jobs.count) == [1] && last.replies.count == 1)
    }

    /// The background task that creates the push jobs of a broadcast fails, but the task of an erasure still runs. A
    /// failed task pauses for five seconds; then the job is created.
    @Test(.fileOnly) func failingBackgroundTaskDoesNotStopOthers() throws {
        do {
            let executor = try store.pushing()
            _ = try executor.commit(register(fcm("a"), by: driver("42")))
            _ = try executor.commit(announceToAll)
            _ = try executor.commit(command(Erase(.driver, id: "99")))
            try executor.database.run(
                """
                CREATE TRIGGER poison BEFORE INSERT ON push_jobs WHEN NEW.recipient = 'driver:42' \
                BEGIN SELECT RAISE(ABORT, 'poisoned'); END
                """)
        }
        let harness = try harness()
        let other = try Database.open(readingFrom: store.address)
        var none: [WriterHarness.Reply] = []
        while try other.dump("SELECT * FROM erasures") != [] { _ = harness.replies.take(into: &none, most: 1, waiting: 10) }
        let events = harness.events.withLock { $0 }
        #expect(events.count == 1)
        if case .backgroundTaskFailed(let error, "broadcasts") = events.first {
            #expect(error.message == "poisoned")
        } else {
            Issue.record("\(events)")
        }
        let writing = try Database.open(besideGateway: store.address)
        try writing.run("DROP TRIGGER poison")
        harness.time.withLock { $0 += 5_000 }
        #expect(harness.execute(assign("A", to: "1"))?.status == 200)
        #expect(harness.wakes(1) == [[.fcm]])
        harness.stop()
        #expect(harness.events.withLock { $0 }.count == 1)
    }

    /// The transaction of two commands fails. Then each command is executed alone, the dispatcher's first, which fails.
    @Test(.fileOnly) func publishesEndedJobsOnceIfAnotherCommandOfTheBatchFails() throws {
        let barrier = StartBarrier(1)
        let harness = try harness(
            onOpen: { (executor: CommandExecutor) throws(DatabaseError) in
                try executor.database.run(
                    """
                    CREATE TRIGGER poison BEFORE INSERT ON audit WHEN NEW.order_code = 'POISON' \
                    BEGIN SELECT RAISE(ABORT, 'poisoned'); END
                    """)
            },
            onCommit: pause(at: barrier))
        _ = harness.execute(register(fcm("a"), by: driver("42")))
        harness.post(announce(to: "42"), request: 7)
        barrier.waitForArrival()
        harness.post(unregister(fcm("a"), by: driver("42")))
        harness.post(assign("POISON", to: "43"))
        barrier.open()
        #expect(harness.replies(3).map { $0.reply.status } == [200, nil, 200])
        harness.stop()
        #expect(harness.finished.withLock { $0 }.map { $0[.fcm]?.cancelled } == [1])
    }
}
