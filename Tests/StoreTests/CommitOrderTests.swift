import FleetRules
import Testing
import Threads

@testable import Store

/// What the writer's thread says after its commits, and in which order.
@Suite(.timeLimit(.minutes(1))) struct CommitOrderTests {
    private let room = TemporaryStore()

    private func scene(
        opened: @escaping @Sendable (CommandExecutor) throws(DatabaseError) -> Void = { _ throws(DatabaseError) in },
        settling: @escaping @Sendable ([CommandReply]) -> Void
    ) throws(StoreError) -> WriterHarness {
        try WriterHarness(
            room, opened: opened, settling: settling,
            changing: {
                $0.rules = pushingRules
                $0.lanes = [.fcm]
            })
    }

    /// Otherwise the lane would look for the push to withdraw before it has it, and send it to the new owner's phone.
    @Test func whatIsSuppliedIsToldBeforeWhatWithdrawsIt() throws {
        let gate = StartBarrier(1)
        let scene = try scene { batch in if batch.first?.request.sender.request == 7 { gate.arriveAndWait() } }
        _ = scene.settle(register(fcm("a"), by: driver("42")))
        scene.post(announce(to: "42"), exchange: 7)
        gate.waitForArrival()
        scene.post(PushReport(lane: .fcm, room: 9))
        scene.post(register(fcm("a"), by: driver("43")))
        gate.open()
        let removed = scene.answers(2).compactMap(\.outcome.settlement).flatMap(\.removed)
        #expect(removed.map(\.owner) == ["driver:42"])
        #expect(scene.supplies(1).map(\.jobs.count) == [1])
        scene.stop()
        #expect(scene.statistics.commits == 3)
        #expect(scene.order.withLock { $0 } == ["settled", "settled", "supplied", "settled"])
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
        let scene = try scene { _ in }
        let other = try Database.open(readingFrom: room.path)
        var none: [CommandReply] = []
        while try other.dump("SELECT * FROM erasures") != [] { _ = scene.settled.take(into: &none, most: 1, waiting: 10) }
        let events = scene.events.withLock { $0 }
        #expect(events.count == 1)
        if case .backgroundTaskFailed(let error, "broadcasts") = events.first {
            #expect(error.message == "poisoned")
        } else {
            Issue.record("\(events)")
        }
        let writing = try Database(path: room.path, .writing)
        try writing.run("DROP TRIGGER poison")
        scene.time.withLock { $0 += 5_000 }
        #expect(scene.settle(assign("A", to: "1"))?.settlement?.status == 200)
        #expect(scene.woken(1) == [[.fcm]])
        scene.stop()
        #expect(scene.events.withLock { $0 }.count == 1)
    }

    /// The batch fails, and then one of its two pieces.
    @Test func whatEndedIsToldAlthoughTheNextCommitFails() throws {
        let gate = StartBarrier(1)
        let scene = try scene(
            opened: { (ledger: CommandExecutor) throws(DatabaseError) in
                try ledger.database.run(
                    """
                    CREATE TRIGGER poison BEFORE INSERT ON audit WHEN NEW.order_code = 'POISON' \
                    BEGIN SELECT RAISE(ABORT, 'poisoned'); END
                    """)
            },
            settling: { batch in if batch.first?.request.sender.request == 7 { gate.arriveAndWait() } })
        _ = scene.settle(register(fcm("a"), by: driver("42")))
        scene.post(announce(to: "42"), exchange: 7)
        gate.waitForArrival()
        scene.post(unregister(fcm("a"), by: driver("42")))
        scene.post(assign("POISON", to: "43"))
        gate.open()
        #expect(scene.answers(3).map { $0.outcome.settlement?.status } == [200, 200, nil])
        scene.stop()
        #expect(scene.ended.withLock { $0 }.map { $0[.fcm]?.cancelled } == [1])
    }
}
