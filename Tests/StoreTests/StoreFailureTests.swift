import CSQLite
import FleetRules
import Testing
import Threads

@testable import Store

/// What the disk does to the store, and what the store makes of it.
@Suite struct StoreFailureTests {
    /// Refuses the orders whose code begins with POISON, as a violated constraint would.
    private static let poison = """
        CREATE TRIGGER poison BEFORE INSERT ON audit WHEN NEW.order_code LIKE 'POISON%' \
        BEGIN SELECT RAISE(ABORT, 'poisoned'); END
        """

    @Test func aPoisonousCommandFailsAlone() throws {
        let gate = StartBarrier(1)
        let scene = try WriterHarness(
            onOpen: { (ledger: CommandExecutor) throws(DatabaseError) in try ledger.database.run(Self.poison) },
            onCommit: pause(at: gate))
        scene.post(assign("first", to: "42"), request: 7)
        gate.waitForArrival()
        for code in ["A", "B", "POISON", "C", "POISON-2", "D"] { scene.post(assign(code, to: "42", key: code)) }
        gate.open()
        let answers = scene.replies(7).dropFirst()
        scene.stop()
        #expect(answers.map { $0.reply.status } == [200, 200, nil, 200, nil, 200])
        #expect(answers.filter { $0.reply == .failed("The store failed") }.count == 2)
        #expect(scene.batches.withLock { $0 } == [1, 6], "answered together, in their order")
        #expect(scene.statistics.failed == 2 && scene.statistics.commands == 5)
        guard case .failed(let error, "c-1") = scene.events.withLock({ $0 }).first else {
            Issue.record("nothing was reported")
            return
        }
        #expect(error.message == "poisoned" && !error.isTransient)

        let database = try scene.store.ledger().database
        #expect(try database.dump("SELECT code FROM orders ORDER BY code") == ["A", "B", "C", "D", "first"])
        #expect(try database.dump("SELECT order_code FROM audit ORDER BY id") == ["first", "A", "B", "C", "D"])
        // No gap where the poisoned were.
        #expect(try database.dump("SELECT last FROM channel_sequences WHERE channel = 'driver-42'") == ["5"])
        #expect(try database.dump("SELECT COUNT(*) FROM idempotency") == ["4"])
    }

    @Test func aFullDiskIsSaidOnceAndPasses() throws {
        let pages = Lock<(max: Int, ledger: UInt)>((0, 0))
        let room = TemporaryStore()
        do { _ = try room.ledger().settle(assign("before", to: "42")) }
        // The limit is the connection's own: it is changed where the connection lives, before a batch.
        let scene = try WriterHarness(
            room,
            onOpen: { (ledger: CommandExecutor) throws(DatabaseError) in
                try ledger.database.run("PRAGMA max_page_count = 1")  // SQLite makes it what the file has
                pages.withLock { $0.ledger = UInt(bitPattern: ledger.database.connection.handle) }
            },
            onCommit: { _ in
                pages.withLock { state in
                    guard state.max > 0, let handle = OpaquePointer(bitPattern: state.ledger) else { return }
                    sqlite3_exec(handle, "PRAGMA max_page_count = \(state.max)", nil, nil, nil)
                }
            })
        var codes: [String] = []
        var refused = 0
        for number in 0..<2000 where refused < 5 {
            let code = "A\(number)"
            guard let outcome = scene.execute(assign(code, to: "42", key: code)) else { break }
            if outcome.isUnavailable { refused += 1 } else { codes.append(code) }
        }
        #expect(refused == 5)
        // What has nothing to write succeeds, and proves nothing.
        for _ in 0..<2 {
            scene.post(PushReport(lane: .fcm, capacity: 0))
            #expect(scene.leases(1).count == 1)
            #expect(scene.execute(assign("again", to: "42"))?.isUnavailable == true)
        }
        let full = scene.events.withLock { $0 }
        #expect(full.count == 1)
        if case .unavailable(let error) = full.first { #expect(error.kind == .full) } else { Issue.record("\(full)") }

        pages.withLock { $0.max = 1_000_000 }
        #expect(scene.execute(assign("sixth", to: "42"))?.isUnavailable == true)  // room is made after it
        #expect(scene.execute(assign("after", to: "42"))?.status == 200)
        #expect(scene.events.withLock { $0 }.last == .recovered(refused: 8))
        #expect(scene.statistics.unavailable == 8)
        scene.stop()

        let database = try room.ledger().database
        #expect(try database.dump("SELECT code FROM orders ORDER BY code") == (["before", "after"] + codes).sorted())
        #expect(
            try database.dump("SELECT sequence FROM notifications WHERE channel = 'driver-42' ORDER BY sequence")
                == (1...(codes.count + 2)).map(String.init))
        #expect(try database.dump("PRAGMA integrity_check") == ["ok"])
    }

    /// However little room there is, a transaction is whole or not there.
    @Test func aDiskThatFillsAnywhereLeavesNoHalf() throws {
        var succeeded = false
        var failures = 0
        while !succeeded {
            let room = TemporaryStore()
            let ledger = try room.ledger()
            _ = try ledger.settle(order(.update, "first"))
            let before = try ledger.everything()
            let size = try #require(Int(ledger.database.dump("PRAGMA page_count")[0]))
            try ledger.database.run("PRAGMA max_page_count = \(size + failures)")
            do {
                try ledger.transaction { () throws(DatabaseError) in
                    for number in 0..<30 { _ = try ledger.execute(assign("A\(number)", to: "42", key: "k\(number)"), now: noon) }
                }
                succeeded = true
            } catch {
                #expect(error.kind == .full && error.isTransient)
                failures += 1
                #expect(try ledger.everything() == before)
            }
            // It goes on either way.
            try ledger.database.run("PRAGMA max_page_count = 1000000")
            #expect(try ledger.settle(assign("next", to: "7")).status == 200)
        }
        #expect(failures > 3)
    }

    /// SQLite's own habit: the n-th step fails, for every n until none does.
    @Test func aFailureAnywhereLeavesNoHalf() throws {
        let ledger = try TemporaryStore().ledger()
        _ = try ledger.settle(assign("A", to: "41"))
        let before = try ledger.everything()
        let stepsLeft = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        defer { stepsLeft.deallocate() }
        for step in 1...5000 {
            stepsLeft.pointee = step
            let result = Result {
                try ledger.transaction { () throws(DatabaseError) in
                    // Not over BEGIN and COMMIT: interrupted behind its last step, a commit fails and is done.
                    sqlite3_progress_handler(ledger.database.connection.handle, 1, Self.failLast, stepsLeft)
                    defer { sqlite3_progress_handler(ledger.database.connection.handle, 0, nil, nil) }
                    return try ledger.execute(assign("A", to: "42", key: "k"), now: noon)
                }
            }
            guard case .failure(let error) = result else { break }
            try #require((error as? DatabaseError)?.code == "SQLite error \(SQLITE_INTERRUPT)")
            try #require(try ledger.everything() == before)
        }
        #expect(stepsLeft.pointee > 0, "the last one was let through")
        #expect(try ledger.count("idempotency") == 1)
        #expect(try ledger.database.dump("SELECT version, driver_id FROM orders") == ["2|42"])
    }

    private static let failLast: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { argument in
        guard let stepsLeft = argument?.assumingMemoryBound(to: Int.self) else { return 0 }
        stepsLeft.pointee -= 1
        return stepsLeft.pointee == 0 ? 1 : 0
    }

    /// A rollback may fail like anything else. What it left open must not keep everybody out for ever.
    @Test func aRollbackThatFailsIsMadeUpFor() throws {
        let ledger = try TemporaryStore().ledger()
        let handle = ledger.database.connection.handle
        #expect(throws: DatabaseError.self) {
            try ledger.transaction { () throws(DatabaseError) in
                _ = try ledger.execute(assign("A", to: "42"), now: noon)
                sqlite3_progress_handler(handle, 1, { _ in 1 }, nil)
                throw .misread("it", doing: "failing")
            }
        }
        sqlite3_progress_handler(handle, 0, nil, nil)
        #expect(sqlite3_get_autocommit(handle) == 0, "it is still open")
        try ledger.transaction { () throws(DatabaseError) in }
        #expect(try ledger.everything().allSatisfy(\.isEmpty))
        #expect(try ledger.settle(assign("A", to: "42")).status == 200)
    }

    @Test func anotherProgramsLockPasses() throws {
        let scene = try WriterHarness()
        let other = try Database(path: scene.store.path, .writing)
        try other.run("BEGIN IMMEDIATE")
        #expect(scene.execute(assign("A", to: "42"))?.isUnavailable == true)
        try other.run("COMMIT")
        #expect(scene.execute(assign("A", to: "42"))?.status == 200)
        scene.stop()
        // RetentionSchedule may have met the lock, too.
        let events = scene.events.withLock { $0 }.filter { if case .backgroundTaskFailed = $0 { false } else { true } }
        #expect(events.count == 2)
        if case .unavailable(let error) = events.first { #expect(error.kind == .busy) } else { Issue.record("\(events)") }
        #expect(events.last == .recovered(refused: 1))
    }
}
