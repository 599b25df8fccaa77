import CSQLite
import FleetRules
import Testing
import Threads

@testable import Store

/// Lanes and the writer's thread: what they say to each other, and what they share with everybody else's errands.
@Suite struct PushWriterTests {
    private let room = TemporaryStore()

    private func scene(
        queueMax: Int = 100_000,
        onOpen: @escaping @Sendable (CommandExecutor) throws(DatabaseError) -> Void = { _ throws(DatabaseError) in },
        onCommit: @escaping @Sendable (Commit) -> Void = { _ in }
    ) throws(StoreError) -> WriterHarness {
        try WriterHarness(
            room, queueMax: queueMax, onOpen: onOpen, onCommit: onCommit,
            changing: {
                $0.rules = pushingRules
                $0.lanes = [.fcm, .apns]
            })
    }

    private static func ask(_ outcomes: [PushOutcome] = [], room: Int = 100) -> PushReport {
        PushReport(lane: .fcm, outcomes: outcomes, capacity: room)
    }

    @Test func carriesAPushFromTheActionToItsEnd() throws {
        let scene = try scene()
        _ = scene.execute(register(fcm("a"), by: driver("42")))
        let settlement = try #require(scene.execute(assign("A", to: "42"))?.result)
        #expect(settlement.lanes == [.fcm])
        #expect(scene.post(Self.ask()))
        let supply = try #require(scene.leases(1).first)
        #expect(supply.jobs.map(\.notification.id) == [settlement.notifications[0].id] && supply.lane == .fcm && !supply.hasMore)
        scene.post(Self.ask([PushOutcome(supply.jobs[0], .accepted(messageID: "m"), wasTried: true)]))
        #expect(scene.leases(1).first?.jobs == [])
        scene.stop()
        #expect(!scene.post(Self.ask()))
        #expect(scene.statistics.reports == 2 && scene.statistics.leased == 1 && scene.statistics.commands == 2)
        #expect(try room.pushing().jobs() == ["driver:42|accepted|"])
    }

    @Test func reportsShareCommitsWithErrands() throws {
        let gate = StartBarrier(1)
        let scene = try scene(onCommit: pause(at: gate))
        scene.post(register(fcm("a"), by: driver("42")), request: 7)
        gate.waitForArrival()
        for number in 0..<20 {
            scene.post(assign("A\(number)", to: "42"))
            scene.post(Self.ask(room: 1))
        }
        gate.open()
        // Each sees what was decided before it in the same transaction.
        #expect(scene.leases(20).map(\.jobs.count) == [Int](repeating: 1, count: 20))
        #expect(scene.replies(21).count == 21)
        scene.stop()
        #expect(scene.statistics.commits == 2 && scene.statistics.reports == 20)
    }

    @Test func aReportThatFailsHarmsNobodyElse() throws {
        let gate = StartBarrier(1)
        let scene = try scene(
            onOpen: { (ledger: CommandExecutor) throws(DatabaseError) in
                try ledger.database.run(
                    """
                    CREATE TRIGGER poison BEFORE UPDATE ON push_jobs WHEN NEW.message_id = 'poison' \
                    BEGIN SELECT RAISE(ABORT, 'poisoned'); END
                    """)
            }, onCommit: pause(at: gate))
        _ = scene.execute(register(fcm("a"), by: driver("42")))
        _ = scene.execute(announce(to: "42"))
        scene.post(Self.ask())
        let job = try #require(scene.leases(1).first?.jobs.first)
        scene.post(assign("first", to: "43"), request: 7)
        gate.waitForArrival()
        let poison = Self.ask([PushOutcome(job, .accepted(messageID: "poison"), wasTried: true)])
        scene.post(assign("A", to: "42"))
        scene.post(poison)
        scene.post(assign("B", to: "42"))
        scene.post(Self.ask(room: 9))
        gate.open()
        #expect(scene.replies(3).map { $0.reply.status } == [200, 200, 200])
        #expect(scene.leases(1).map(\.jobs.count) == [2])
        scene.stop()
        #expect(scene.rejectedReports.withLock { $0 } == [poison])
        #expect(scene.statistics.failed == 1)
        guard case .failed(let error, "push-fcm") = scene.events.withLock({ $0 }).first else {
            Issue.record("nothing was reported")
            return
        }
        #expect(error.message == "poisoned")
    }

    @Test func aStoreThatCannotWriteGivesReportsBack() throws {
        let scene = try scene()
        _ = scene.execute(register(fcm("a"), by: driver("42")))
        _ = scene.execute(announce(to: "42"))
        let other = try Database(path: room.path, .writing)
        try other.run("BEGIN IMMEDIATE")
        scene.post(Self.ask())
        // The second is answered after all that the first one's batch had to say.
        for _ in 0..<2 { #expect(scene.execute(announce(to: "42"))?.isUnavailable == true) }
        try other.run("COMMIT")
        #expect(scene.rejectedReports.withLock { $0 } == [Self.ask()])
        scene.post(Self.ask())
        #expect(scene.leases(1).map(\.jobs.count) == [1])
        scene.stop()
    }

    @Test func reportsFindRoomWhenErrandsDoNot() throws {
        let gate = StartBarrier(1)
        let scene = try scene(
            queueMax: 2, onCommit: pause(at: gate))
        scene.post(assign("first", to: "42"), request: 7)
        gate.waitForArrival()
        #expect((0..<3).map { scene.post(assign("A\($0)", to: "42")) } == [true, true, false])
        #expect((0..<70).filter { _ in scene.post(Self.ask()) }.count == 64)
        gate.open()
        #expect(scene.leases(64).count == 64)
        scene.stop()
    }

    @Test func newRulesHoldFromTheNextBatchOn() throws {
        let scene = try scene()
        _ = scene.execute(register(fcm("a"), by: driver("42")))
        #expect(scene.execute(announce(to: "42"))?.lanes == [.fcm])
        scene.use(NotificationRules())
        #expect(scene.execute(announce(to: "42"))?.lanes == [])
        scene.use(pushingRules)
        #expect(scene.execute(announce(to: "42"))?.lanes == [.fcm])
        scene.stop()
    }

    /// Nobody asks for it, and it does not wait for the next errand.
    @Test func whatIsForEverybodyIsQueuedAtOnce() throws {
        let scene = try scene()
        for number in 0..<600 { scene.post(register(fcm("\(number)"), by: driver("\(number)"))) }
        #expect(scene.replies(600).count == 600)
        #expect(scene.execute(announceToAll)?.lanes == [])
        #expect(scene.wakes(2) == [[.fcm], [.fcm]])
        scene.post(Self.ask(room: 1_000))
        #expect(scene.leases(1).map(\.jobs.count) == [600])
        scene.stop()
    }

    @Test func whatWasLeftIsDoneAfterTheStart() throws {
        do {
            let ledger = try room.pushing()
            _ = try ledger.settle(register(fcm("a"), by: driver("42")))
            _ = try ledger.settle(announceToAll)
        }
        let scene = try scene()
        #expect(scene.wakes(1) == [[.fcm]])
        scene.stop()
        #expect(try room.pushing().jobs() == ["driver:42|queued|"])
    }

    @Test func aLaneThatATokenMovesToIsWoken() throws {
        let scene = try scene()
        _ = scene.execute(register(fcm("old"), by: driver("42"), deviceID: "phone"))
        _ = scene.execute(announce(to: "42"))
        scene.post(Self.ask())
        let job = try #require(scene.leases(1).first?.jobs.first)
        let moved = scene.execute(register(apns("abcdef0123456789"), by: driver("42"), deviceID: "phone"))?.result
        #expect(moved?.lanes == [.apns] && moved?.removed.map(\.reason) == ["replaced"])
        scene.post(
            Self.ask([
                PushOutcome(
                    job, .failed(reason: "UNREGISTERED"), wasTried: true,
                    removal: DeviceRemoval(reason: "x", ifSeenBefore: noon + 1))
            ]))
        #expect(scene.wakes(1) == [[.apns]])
        scene.post(PushReport(lane: .apns, capacity: 5))
        #expect(scene.leases(2).last?.jobs.map(\.number) == [job.number])
        scene.stop()
    }

    @Test func saysWhichStaleDevicesAreGone() throws {
        do { _ = try room.pushing().settle(register(fcm("a"), by: driver("42")), at: noon - 271 * day) }
        let scene = try scene()
        let deadline = Clock.monotonicNanoseconds() + 10_000_000_000
        var none: [WriterHarness.Reply] = []
        while scene.removed.withLock({ $0.isEmpty }), Clock.monotonicNanoseconds() < deadline {
            _ = scene.replies.take(into: &none, most: 1, waiting: 10)
        }
        scene.stop()
        #expect(
            scene.removed.withLock { $0 } == [
                RemovedDevice(
                    id: DeviceTable.id(of: fcm("a")), owner: "driver:42", provider: .fcm, maskedToken: fcm("a").masked,
                    reason: "stale")
            ])
    }

    @Test func saysOnceWhatItCannotRead() throws {
        do {
            let ledger = try room.pushing()
            for id in ["42", "43"] {
                _ = try ledger.settle(register(fcm(id), by: driver(id)))
                _ = try ledger.settle(command(.updatePreferences(PreferenceChanges()), by: driver(id)))
            }
            try ledger.database.run("UPDATE preferences SET json = 'no'")
            _ = try ledger.settle(announce(to: "42", "43"))
        }
        let scene = try scene()
        scene.post(Self.ask(room: 1))
        scene.post(Self.ask(room: 1))
        #expect(scene.leases(2).map(\.jobs.count) == [1, 1])
        scene.stop()
        #expect(scene.events.withLock { $0 } == [.unreadable("preferences of driver:42")])
    }
}
