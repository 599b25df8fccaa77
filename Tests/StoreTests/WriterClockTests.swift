import Primitives
import Testing
import Threads

@testable import Fleet

/// What the writer does while the wall clock has jumped.
@Suite(.timeLimit(.minutes(5))) struct WriterClockTests {
    private let store = TemporaryStore()
    private let jump = 300 * day

    /// A store in which an order was assigned and ended 20 days ago, with a stored response and a device.
    private func fill() throws {
        let executor = try store.executor(at: noon - 20 * day)
        _ = try executor.commit(assign("A", to: "42"), at: noon - 20 * day)
        _ = try executor.commit(order(.cancel, "A"), at: noon - 20 * day)
        _ = try executor.commit(register(fcm("a"), by: driver("42")), at: noon - 20 * day)
        _ = try executor.commit(assign("B", to: "42", key: "k"), at: noon)
    }

    /// The number of rows that retention deletes when they are old enough.
    private func rowCount() throws -> Int {
        let database = try Database.open(readingFrom: store.address)
        return try ["notifications", "audit", "idempotency", "devices", "orders"].reduce(0) {
            $0 + (Int(try database.dump("SELECT COUNT(*) FROM \($1)")[0]) ?? 0)
        }
    }

    /// Executes commands that write no rows, so that retention gets its turns.
    private func run(_ harness: WriterHarness) {
        for _ in 0..<60 { _ = harness.execute(command(MarkRead(["none"]), by: driver("7"))) }
    }

    /// Waits until retention has deleted as many rows.
    private func waitUntilDeleted(_ count: Int, _ harness: WriterHarness) {
        let deadline = Clock.monotonicNanoseconds() + 10_000_000_000
        var none: [WriterHarness.Reply] = []
        while harness.statistics.deleted < count, Clock.monotonicNanoseconds() < deadline {
            _ = harness.replies.take(into: &none, most: 1, waiting: 10)
        }
    }

    private func changes(_ harness: WriterHarness) -> [TrustedClock.Change] {
        harness.events.withLock { $0 }.compactMap { if case .clock(let change) = $0 { change } else { nil } }
    }

    @Test func jumpDeletesNothing() throws {
        try fill()
        let before = try rowCount()
        let harness = try WriterHarness(store)
        harness.clockError.withLock { $0 = jump }
        run(harness)
        #expect(try rowCount() == before)
        #expect(changes(harness) == [.jumped(ahead: jump)])
        harness.clockError.withLock { $0 = 0 }
        run(harness)
        #expect(changes(harness).last == .trusted(.returned))
        harness.stop()
        #expect(try rowCount() == before && harness.statistics.deleted == 0)
    }

    @Test func jumpWhileTheGatewayIsStoppedDeletesNothing() throws {
        try fill()
        do { try WriterHarness(store).stop() }
        let before = try rowCount()
        for _ in 0..<2 {
            let harness = try WriterHarness(store, changing: { $0.readClock = { reading(noon + 300 * day, uptime: day) } })
            run(harness)
            harness.stop()
            #expect(try rowCount() == before)
            #expect(changes(harness) == [.jumped(ahead: jump)], "reported at each start")
        }
    }

    @Test func operatorConfirmsAJump() throws {
        try fill()
        let harness = try WriterHarness(store)
        harness.clockError.withLock { $0 = jump }
        run(harness)
        try ClockConfirmation.store(reading(noon + jump, uptime: day), in: store.address)
        harness.time.withLock { $0 += 2_000 }
        run(harness)
        waitUntilDeleted(10, harness)
        harness.stop()
        #expect(changes(harness) == [.jumped(ahead: jump), .trusted(.confirmed)])
        #expect(harness.statistics.deleted >= 10)
        let database = try Database.open(readingFrom: store.address)
        #expect(try database.dump("SELECT name FROM clock_readings") == ["trusted"], "a confirmation is used once")
    }

    @Test func operatorConfirmsAJumpWhileTheGatewayIsStopped() throws {
        try fill()
        do { try WriterHarness(store).stop() }
        try ClockConfirmation.store(reading(noon + jump, uptime: day), in: store.address)
        let harness = try WriterHarness(store, changing: { $0.readClock = { reading(noon + 300 * day, uptime: day) } })
        waitUntilDeleted(10, harness)
        harness.stop()
        #expect(harness.statistics.deleted >= 10 && changes(harness).last == .trusted(.confirmed))
    }

    /// A confirmation was given when it was not needed. Half a year later the clock jumps.
    @Test func confirmationOfAnEarlierTimeChangesNothing() throws {
        try fill()
        let before = try rowCount()
        let harness = try WriterHarness(store)
        try ClockConfirmation.store(reading(noon - 180 * day, uptime: 0), in: store.address)
        harness.clockError.withLock { $0 = jump }
        run(harness)
        harness.time.withLock { $0 += 2_000 }
        run(harness)
        harness.stop()
        #expect(changes(harness) == [.jumped(ahead: jump)])
        let database = try Database.open(readingFrom: store.address)
        #expect(try database.dump("SELECT COUNT(*) FROM clock_readings WHERE name = 'confirmed'") == ["0"])
        #expect(try rowCount() == before)
    }

    @Test func aDayOfEvenRunningEndsTheAlarm() throws {
        try fill()
        let harness = try WriterHarness(store)
        harness.clockError.withLock { $0 = jump }
        run(harness)
        harness.time.withLock { $0 += day }
        waitUntilDeleted(10, harness)
        harness.stop()
        #expect(harness.statistics.deleted >= 10)
        #expect(changes(harness) == [.jumped(ahead: jump), .trusted(.agreed)])
    }

    @Test func confirmationRequiresAStore() throws {
        #expect(throws: StoreError.self) { try ClockConfirmation.store(reading(noon, uptime: 0), in: store.address) }
    }

    // MARK: Commands and pushes

    @Test func repeatedCommandIsNotExecutedAgainDuringAJump() throws {
        let harness = try WriterHarness(store)
        #expect(harness.execute(assign("A", to: "42", key: "k"))?.status == 200)
        harness.clockError.withLock { $0 = jump }
        #expect(harness.execute(assign("A", to: "42", key: "k"))?.isReplay == true)
        harness.stop()
    }

    /// Notifications show the wall clock's time. Their ids do not lie far ahead, because all later ids must be greater.
    @Test func idsStayCloseToTheTrustedTime() throws {
        let harness = try WriterHarness(store)
        harness.clockError.withLock { $0 = jump }
        let ahead = try #require(harness.execute(assign("A", to: "42"))?.notifications.first)
        #expect(ahead.createdAt == noon + jump)
        harness.clockError.withLock { $0 = 0 }
        harness.time.withLock { $0 += 120_000 }
        let later = try #require(harness.execute(assign("B", to: "42"))?.notifications.first)
        harness.stop()
        var source = ULIDSource(random: { 0 })
        let (minute, two) = (source.next(at: noon + 60_000), source.next(at: noon + 120_000))
        #expect(minute <= ahead.id && ahead.id < later.id && two <= later.id)
        #expect(later.id.prefix(10) == two.prefix(10))
        let audit = try store.executor().database.dump("SELECT id FROM audit ORDER BY id")
        #expect(audit.count == 2 && audit[0] < two && audit[1].prefix(10) == two.prefix(10))
    }

    /// What has expired by the wall clock only is neither ended nor sent: the wall clock may be right.
    @Test func jumpHoldsPushesBack() throws {
        let executor = try store.pushing([.fcm])
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        _ = try executor.commit(announce(to: "42"))
        _ = try executor.commit(announceToAll)
        let inHand = try executor.claim(1)
        executor.clockLead = jump
        // The lane compares with the wall clock, so it reports the job in its hands as expired.
        try executor.report(inHand.map { PushOutcome($0, .expired, wasTried: false) }, at: noon + jump)
        _ = try executor.commit(announce(to: "42"), at: noon + jump)
        try executor.runBackgroundTasks(at: noon + jump)
        var jobs = try executor.claim(9, at: noon + jump)
        #expect(jobs.count == 1 && jobs[0].notification.createdAt == noon + jump)
        #expect(try executor.claim(9, at: noon + jump + 60_000).isEmpty, "considered again and held back again")
        executor.clockLead = 0
        #expect(try executor.claim(9, at: noon).isEmpty)
        jobs = try executor.claim(9, at: noon + 5_000)
        #expect(jobs.count == 2 && jobs.allSatisfy { $0.notification.createdAt == noon && $0.attempts == 0 })
    }

    /// The machine was off: the wall clock is right, and an operator says so.
    @Test func confirmationEndsThePushesThatWereHeldBack() throws {
        let executor = try store.pushing([.fcm])
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        _ = try executor.commit(announce(to: "42"))
        executor.clockLead = jump
        #expect(try executor.claim(9, at: noon + jump).isEmpty && executor.jobs() == ["driver:42|waiting|"])
        executor.clockLead = 0
        #expect(try executor.claim(9, at: noon + jump + 1).isEmpty && executor.jobs() == ["driver:42|expired|"])
    }

    @Test func pushesExpireByTheTrustedTime() throws {
        let executor = try store.pushing([.fcm])
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        _ = try executor.commit(announce(to: "42"))
        let inHand = try executor.claim(1)
        executor.clockLead = jump
        let later = noon + jump + 3_600_000
        try executor.report(inHand.map { PushOutcome($0, .expired, wasTried: false) }, at: later)
        #expect(try executor.claim(9, at: later).isEmpty && executor.jobs() == ["driver:42|expired|"])
    }
}
