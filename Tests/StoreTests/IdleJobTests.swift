import Primitives
import Testing

@testable import Fleet

/// Open orders and routes that nobody ends: the gateway ends them after `fleet.open_days`.
@Suite struct IdleJobTests {
    private let store = TemporaryStore()

    private func open(_ executor: CommandExecutor) throws -> Set<String> {
        let rows = try executor.database.dump(
            """
            SELECT code FROM orders WHERE status NOT IN ('completed', 'cancelled') \
            UNION ALL SELECT id FROM routes WHERE status NOT IN ('completed', 'cancelled')
            """)
        return Set(rows)
    }

    /// What one look finds.
    private func look(_ jobs: inout IdleJobs, _ executor: CommandExecutor, at now: Int64, monotonic: Int64 = 0) throws
        -> [IssuedCommand]
    {
        let commands = try jobs.next(executor, now: now, monotonic: monotonic)
        for command in commands { #expect(try executor.commit(command, at: now).status == 200) }
        return commands
    }

    @Test func endsThemInSlicesAndTellsWhy() throws {
        let executor = try store.pushing([.fcm])
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        let count = 2 * IdleJobs.most + 5
        for number in 0..<count { _ = try executor.commit(assign("A\(number)", to: "42")) }
        for number in 0..<3 { _ = try executor.commit(command(RouteAction(id: "R\(number)", .update))) }
        let pushes = try executor.count("push_jobs")
        _ = executor.counter.drain()
        var jobs = IdleJobs(days: 30)
        #expect(try look(&jobs, executor, at: noon + 30 * day).isEmpty, "to the millisecond")
        #expect(try look(&jobs, executor, at: noon + 31 * day, monotonic: 599_999).isEmpty, "a round is every ten minutes")
        let now = noon + 31 * day
        var (ended, monotonic): (Int, Int64) = (0, 600_000)
        while ended < count + 3 {
            let commands = try look(&jobs, executor, at: now, monotonic: monotonic)
            try #require(!commands.isEmpty)
            #expect(commands.reduce(0) { $0 + $1.rows } <= 2 * IdleJobs.rowsMax)
            #expect(try look(&jobs, executor, at: now, monotonic: monotonic + 999).isEmpty, "a look is every second")
            (ended, monotonic) = (ended + commands.count, monotonic + 1_000)
        }
        #expect(monotonic >= 604_000, "not all at once")
        #expect(try look(&jobs, executor, at: now, monotonic: monotonic).isEmpty)
        #expect(try open(executor).isEmpty && executor.counter.drain().endedJobs == count + 3)
        #expect(try executor.count("push_jobs") == pushes, "no phone rings")
        #expect(
            try executor.database.dump(
                "SELECT DISTINCT channel FROM notifications WHERE created_at = \(now) AND channel <> 'tracking-A0' "
                    + "AND channel NOT LIKE 'tracking%' ORDER BY 1") == ["admin-channel", "driver-42"])
        #expect(
            try executor.database.dump("SELECT DISTINCT actor, action, status_after, reason FROM audit WHERE at = \(now)")
                == ["ops:gateway|cancel|cancelled|Ended by the gateway: nobody has acted on it for 30 days"])
    }

    /// An order that nobody has: dispatchers are told, and not a thousand drivers.
    @Test func driversAreNotToldOfAnOrderThatNobodyHas() throws {
        let executor = try store.executor()
        _ = try executor.commit(command(OrderAction(code: "A", .update)))
        var jobs = IdleJobs(days: 1)
        _ = try look(&jobs, executor, at: noon + 2 * day)
        #expect(try open(executor).isEmpty)
        #expect(
            try executor.database.dump("SELECT channel, event FROM notifications ORDER BY id")
                == ["tracking-A|tracking-stopped", "admin-channel|order-cancelled"])
    }

    @Test func zeroDaysEndNothing() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42"))
        var jobs = IdleJobs(days: 0)
        #expect(try look(&jobs, executor, at: noon + 10_000 * day).isEmpty)
    }

    /// An action counts as one, whoever takes it.
    @Test func leavesWhatIsUsedOrScheduled() throws {
        let executor = try store.executor()
        var scheduled = OrderChanges()
        scheduled.scheduledAt = .set(Timestamp.iso8601(milliseconds: noon + 40 * day))
        _ = try executor.commit(assign("LATER", to: "42", changes: scheduled))
        scheduled.scheduledAt = .set(Timestamp.iso8601(milliseconds: noon + day))
        _ = try executor.commit(assign("OVER", to: "42", changes: scheduled))
        for code in ["USED", "DONE"] { _ = try executor.commit(assign(code, to: "42")) }
        _ = try executor.commit(order(.cancel, "DONE"))
        _ = try executor.commit(command(AcceptJob("USED"), by: driver("42")), at: noon + 20 * day)
        var jobs = IdleJobs(days: 30)
        _ = try look(&jobs, executor, at: noon + 31 * day + 1)
        #expect(try open(executor) == ["LATER", "USED"])
        _ = try look(&jobs, executor, at: noon + 75 * day, monotonic: 600_000)
        #expect(try open(executor).isEmpty)
    }

    /// Another node may have acted between the look and the transaction.
    @Test func anActionInBetweenKeepsTheOrder() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42"))
        var jobs = IdleJobs(days: 1)
        let commands = try jobs.next(executor, now: noon + 2 * day, monotonic: 0)
        _ = try executor.commit(command(AcceptJob("A"), by: driver("42")), at: noon + 2 * day)
        #expect(try executor.commit(commands[0], at: noon + 2 * day).error?.status == 409)
        #expect(try open(executor) == ["A"] && executor.counter.drain().endedJobs == 0)
    }

    /// By the writer itself, also if the gateway keeps no accounts; not in a drain.
    @Test func theWriterEndsThem() throws {
        func assigned(_ codes: String...) throws {
            let executor = try store.executor()
            for code in codes { _ = try executor.commit(assign(code, to: "42"), at: noon - 2 * day) }
        }
        try assigned("A")
        let harness = try WriterHarness(store, changing: { $0.openDays = 1 })
        let ended = try #require(harness.replies(1).first)
        #expect(ended.request.replyTo == nil && ended.reply.result?.audit?.after?.status == "cancelled")
        harness.stop()
        try assigned("B")
        let drained = try WriterHarness(
            store,
            changing: {
                $0.openDays = 1
                $0.admitsOwnCommand = { false }
            })
        #expect(drained.execute(assign("C", to: "42"))?.status == 200)
        drained.stop()
        #expect(try open(store.executor()) == ["B", "C"])
    }

    /// A start reads pages.
    @Test func allOpenOrdersAreRestored() throws {
        let executor = try store.executor()
        try executor.database.run(
            """
            INSERT INTO orders (code, status, version, created_at, updated_at) \
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200) \
            SELECT 'A' || i, CASE WHEN i % 6 = 0 THEN 'completed' ELSE 'assigned' END, 1, 1, i / 700 FROM n
            """)
        var codes: [String] = []
        try executor.openOrders { codes.append($0.code) }
        #expect(codes.count == 1_000 && Set(codes).count == 1_000)
    }
}
