import FleetRules
import Testing
import Threads

@testable import Store

/// What the writer's thread says after its commits, and in which order.
@Suite(.timeLimit(.minutes(1))) struct CommitOrderTests {
    private let room = TemporaryStore()

    private func harness(
        onOpen: @escaping @Sendable (CommandExecutor) throws(DatabaseError) -> Void = { _ throws(DatabaseError) in },
        onCommit: @escaping @Sendable (Commit) -> Void = { _ in }
    ) throws(StoreError) -> WriterHarness {
        try WriterHarness(
            room, onOpen: onOpen, onCommit: onCommit,
            changing: {
                $0.rules = pushingRules
                $0.lanes = [.fcm]
            })
    }

    /// `CommitPublisher` publishes leases before replies: otherwise the lane would look for the push to drop before it has
    /// it, and send it to the device's new owner.
    @Test func oneCommitHasTheLeaseAndTheReplyThatWithdrawsIt() throws {
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

    /// What is for every driver cannot be made; who is to be forgotten is forgotten, and the other is tried again.
    @Test func aChoreThatFailsStopsNoOther() throws {
        do {
            let ledger = try room.pushing()
            _ = try ledger.settle(register(fcm("a"), by: driver("42")))
            _ = try ledger.settle(announceToAll)
            _ = try ledger.settle(command(.erase(.driver, id: "99")))
            try ledger.database.run(
                """
                CREATE TRIGGER poison BEFORE INSERT ON push_jobs WHEN NEW.recipient = 'driver:42' \
                BEGIN SELECT RAISE(ABORT, 'poisoned'); END
                """)
        }
        let harness = try harness()
        let other = try Database.open(readingFrom: room.path)
        var none: [WriterHarness.Reply] = []
        while try other.dump("SELECT * FROM erasures") != [] { _ = harness.replies.take(into: &none, most: 1, waiting: 10) }
        let events = harness.events.withLock { $0 }
        #expect(events.count == 1)
        if case .backgroundTaskFailed(let error, "broadcasts") = events.first {
            #expect(error.message == "poisoned")
        } else {
            Issue.record("\(events)")
        }
        let writing = try Database(path: room.path, .writing)
        try writing.run("DROP TRIGGER poison")
        harness.time.withLock { $0 += 5_000 }
        #expect(harness.execute(assign("A", to: "1"))?.status == 200)
        #expect(harness.wakes(1) == [[.fcm]])
        harness.stop()
        #expect(harness.events.withLock { $0 }.count == 1)
    }

    /// The batch fails, and then one of its two pieces.
    @Test func whatEndedIsToldAlthoughTheNextCommitFails() throws {
        let gate = StartBarrier(1)
        let harness = try harness(
            onOpen: { (ledger: CommandExecutor) throws(DatabaseError) in
                try ledger.database.run(
                    """
                    CREATE TRIGGER poison BEFORE INSERT ON audit WHEN NEW.order_code = 'POISON' \
                    BEGIN SELECT RAISE(ABORT, 'poisoned'); END
                    """)
            },
            onCommit: pause(at: gate))
        _ = harness.execute(register(fcm("a"), by: driver("42")))
        harness.post(announce(to: "42"), request: 7)
        gate.waitForArrival()
        harness.post(unregister(fcm("a"), by: driver("42")))
        harness.post(assign("POISON", to: "43"))
        gate.open()
        #expect(harness.replies(3).map { $0.reply.status } == [200, 200, nil])
        harness.stop()
        #expect(harness.finished.withLock { $0 }.map { $0[.fcm]?.cancelled } == [1])
    }
}
