import CSQLite
import Glibc
import Testing
import Threads

@testable import Fleet

/// Errors of the disk and of statements: each transaction is committed completely or changes nothing, and the store
/// works again afterwards.
@Suite(.fileOnly) struct StoreFailureTests {
    /// A trigger that makes commands fail for orders whose code begins with POISON, as a violated constraint would.
    private static let poison = """
        CREATE TRIGGER poison BEFORE INSERT ON audit WHEN NEW.order_code LIKE 'POISON%' \
        BEGIN SELECT RAISE(ABORT, 'poisoned'); END
        """

    @Test func failingCommandDoesNotAffectItsBatch() throws {
        let barrier = StartBarrier(1)
        let harness = try WriterHarness(
            onOpen: { (executor: CommandExecutor) throws(DatabaseError) in try executor.database.run(Self.poison) },
            onCommit: pause(at: barrier))
        harness.post(assign("first", to: "42"), request: 7)
        barrier.waitForArrival()
        for code in ["A", "B", "POISON", "C", "POISON-2", "D"] { harness.post(assign(code, to: "42", key: code)) }
        barrier.open()
        let replies = harness.replies(7).dropFirst()
        harness.stop()
        #expect(replies.map { $0.reply.status } == [200, 200, nil, 200, nil, 200])
        #expect(replies.filter { $0.reply == .failed("The store failed") }.count == 2)
        #expect(harness.batches.withLock { $0 } == [1, 6], "published together, in their order")
        #expect(harness.statistics.failed == 2 && harness.statistics.commands == 5)
        guard case .failed(let error, "c-1") = harness.events.withLock({ $0 }).first else {
            Issue.record("no event")
            return
        }
        #expect(error.message == "poisoned" && !error.isTransient)

        let database = try harness.store.executor().database
        #expect(try database.dump("SELECT code FROM orders ORDER BY code") == ["A", "B", "C", "D", "first"])
        #expect(try database.dump("SELECT order_code FROM audit ORDER BY id") == ["first", "A", "B", "C", "D"])
        // The failed commands leave no gap in the sequence.
        #expect(try database.dump("SELECT last FROM channel_sequences WHERE channel = 'driver-42'") == ["5"])
        #expect(try database.dump("SELECT COUNT(*) FROM idempotency") == ["4"])
    }

    @Test func fullDiskIsReportedOnceAndRecovers() throws {
        let pages = Lock<(max: Int, handle: UInt)>((0, 0))
        let store = TemporaryStore()
        do { _ = try store.executor().commit(assign("before", to: "42")) }
        // The page limit applies to the writer's connection. Only the writer's thread may use the connection, so
        // onCommit changes the limit.
        let harness = try WriterHarness(
            store,
            onOpen: { (executor: CommandExecutor) throws(DatabaseError) in
                try executor.database.run("PRAGMA max_page_count = 1")  // SQLite raises the limit to the size of the file
                pages.withLock { $0.handle = UInt(bitPattern: executor.database.file.handle) }
            },
            onCommit: { _ in
                pages.withLock { state in
                    guard state.max > 0, let handle = OpaquePointer(bitPattern: state.handle) else { return }
                    sqlite3_exec(handle, "PRAGMA max_page_count = \(state.max)", nil, nil, nil)
                }
            })
        var codes: [String] = []
        var unavailable = 0
        for number in 0..<2000 where unavailable < 5 {
            let code = "A\(number)"
            guard let outcome = harness.execute(assign(code, to: "42", key: code)) else { break }
            if outcome.isUnavailable { unavailable += 1 } else { codes.append(code) }
        }
        #expect(unavailable == 5)
        // A report without writes succeeds on a full disk; it does not end the outage.
        for _ in 0..<2 {
            harness.post(PushReport(lane: .fcm, capacity: 0))
            #expect(harness.leases(1).count == 1)
            #expect(harness.execute(assign("again", to: "42", key: "again"))?.isUnavailable == true)
        }
        let full = harness.events.withLock { $0 }
        #expect(full.count == 1)
        if case .unavailable(let error) = full.first { #expect(error.kind == .full) } else { Issue.record("\(full)") }

        pages.withLock { $0.max = 1_000_000 }
        // After this one, onCommit raises the limit.
        #expect(harness.execute(assign("sixth", to: "42", key: "sixth"))?.isUnavailable == true)
        #expect(harness.execute(assign("after", to: "42"))?.status == 200)
        #expect(harness.events.withLock { $0 }.last == .recovered(refused: 8))
        #expect(harness.statistics.unavailable == 8)
        harness.stop()

        let database = try store.executor().database
        #expect(try database.dump("SELECT code FROM orders ORDER BY code") == (["before", "after"] + codes).sorted())
        #expect(
            try database.dump("SELECT sequence FROM notifications WHERE channel = 'driver-42' ORDER BY sequence")
                == (1...(codes.count + 2)).map(String.init))
        #expect(try database.integrityCheck() == ["ok"])
    }

    /// The transaction is repeated with one more page of free space each time, until it succeeds.
    @Test func fullDiskAtAnyPageLeavesNoPartialTransaction() throws {
        var succeeded = false
        var failures = 0
        while !succeeded {
            let store = TemporaryStore()
            let executor = try store.executor()
            _ = try executor.commit(order(.update, "first"))
            let before = try executor.dispatchTables()
            let size = try #require(Int(executor.database.dump("PRAGMA page_count")[0]))
            try executor.database.run("PRAGMA max_page_count = \(size + failures)")
            do {
                try executor.transaction { () throws(DatabaseError) in
                    for number in 0..<30 {
                        _ = try executor.execute(assign("A\(number)", to: "42", key: "k\(number)"), now: noon)
                    }
                }
                succeeded = true
            } catch {
                #expect(error.kind == .full && error.isTransient)
                failures += 1
                #expect(try executor.dispatchTables() == before)
            }
            // The store works again, whether the transaction succeeded or failed.
            try executor.database.run("PRAGMA max_page_count = 1000000")
            #expect(try executor.commit(assign("next", to: "7")).status == 200)
        }
        #expect(failures > 3)
    }

    /// Interrupts the n-th instruction of SQLite's virtual machine, for each n until the transaction succeeds.
    @Test func interruptAnywhereLeavesNoPartialTransaction() throws {
        let executor = try TemporaryStore().executor()
        _ = try executor.commit(assign("A", to: "41"))
        let before = try executor.dispatchTables()
        let stepsLeft = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        defer { stepsLeft.deallocate() }
        for step in 1...5000 {
            stepsLeft.pointee = step
            let result = Result {
                try executor.transaction { () throws(DatabaseError) in
                    // BEGIN and COMMIT are not interrupted: a COMMIT that is interrupted after its last step reports an
                    // error although the transaction is committed.
                    sqlite3_progress_handler(executor.database.file.handle, 1, Self.failLast, stepsLeft)
                    defer { sqlite3_progress_handler(executor.database.file.handle, 0, nil, nil) }
                    return try executor.execute(assign("A", to: "42", key: "k"), now: noon)
                }
            }
            guard case .failure(let error) = result else { break }
            try #require((error as? DatabaseError)?.code == "SQLite error \(SQLITE_INTERRUPT)")
            try #require(try executor.dispatchTables() == before)
        }
        #expect(stepsLeft.pointee > 0, "the last transaction was not interrupted")
        #expect(try executor.count("idempotency") == 1)
        #expect(try executor.database.dump("SELECT version, driver_id FROM orders") == ["2|42"])
    }

    private static let failLast: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { argument in
        guard let stepsLeft = argument?.assumingMemoryBound(to: Int.self) else { return 0 }
        stepsLeft.pointee -= 1
        return stepsLeft.pointee == 0 ? 1 : 0
    }

    /// A rollback can fail, too. Then the next transaction first rolls back again.
    @Test func nextTransactionRepeatsAFailedRollback() throws {
        let executor = try TemporaryStore().executor()
        let handle = executor.database.file.handle
        #expect(throws: DatabaseError.self) {
            try executor.transaction { () throws(DatabaseError) in
                _ = try executor.execute(assign("A", to: "42"), now: noon)
                sqlite3_progress_handler(handle, 1, { _ in 1 }, nil)
                throw .unreadable("a row", doing: "failing")
            }
        }
        sqlite3_progress_handler(handle, 0, nil, nil)
        #expect(sqlite3_get_autocommit(handle) == 0, "the transaction is still open")
        try executor.transaction { () throws(DatabaseError) in }
        #expect(try executor.dispatchTables().allSatisfy(\.isEmpty))
        #expect(try executor.commit(assign("A", to: "42")).status == 200)
    }

    /// The writer itself finds out that the store can be written again: no command may come before it is said.
    @Test func outageEndsWithoutACommand() throws {
        let harness = try WriterHarness()
        let other = try Database.open(besideGateway: harness.store.address)
        try other.run("BEGIN IMMEDIATE")
        #expect(!harness.statistics.isUnavailable)
        #expect(harness.execute(assign("A", to: "42"))?.isUnavailable == true)
        #expect(harness.statistics.isUnavailable)
        try other.run("COMMIT")
        let deadline = Clock.monotonicNanoseconds() + 10_000_000_000
        while harness.statistics.isUnavailable, Clock.monotonicNanoseconds() < deadline { usleep(10_000) }
        #expect(!harness.statistics.isUnavailable)
        harness.stop()
        #expect(harness.events.withLock { $0 }.contains(.recovered(refused: 1)))
        #expect(try harness.store.executor().database.dump("SELECT COUNT(*) FROM write_probe") == ["0"])
    }

    @Test func lockOfAnotherProgramIsTransient() throws {
        let harness = try WriterHarness()
        let other = try Database.open(besideGateway: harness.store.address)
        try other.run("BEGIN IMMEDIATE")
        #expect(harness.execute(assign("A", to: "42"))?.isUnavailable == true)
        try other.run("COMMIT")
        #expect(harness.execute(assign("A", to: "42"))?.status == 200)
        harness.stop()
        // Ignores failures of background tasks: the lock may have made retention fail, too.
        let events = harness.events.withLock { $0 }.filter { if case .backgroundTaskFailed = $0 { false } else { true } }
        #expect(events.count == 2)
        if case .unavailable(let error) = events.first { #expect(error.kind == .busy) } else { Issue.record("\(events)") }
        #expect(events.last == .recovered(refused: 1))
    }
}
