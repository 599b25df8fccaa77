import Glibc
import Testing
import Threads

@testable import Fleet

/// The store's files are moved, replaced, deleted or damaged while a gateway has them open.
@Suite(.fileOnly) struct StoreLossTests {
    private let store = TemporaryStore()

    /// What is done to the files.
    enum Deed: CaseIterable {
        case deleteAll, deleteLog, deleteDatabase, moveDatabase, replaceDatabase, replaceLog

        func happen(to path: String) {
            switch self {
            case .deleteAll: for name in ["", "-wal", "-shm"] { unlink(path + name) }
            case .deleteLog: unlink(path + "-wal")
            case .deleteDatabase: unlink(path)
            case .moveDatabase: rename(path, path + ".moved")
            case .replaceDatabase: replace(path)
            case .replaceLog: replace(path + "-wal")
            }
        }

        private func replace(_ file: String) {
            close(open(file + ".new", O_CREAT | O_WRONLY, 0o600))
            rename(file + ".new", file)
        }
    }

    /// The failures that were reported.
    private func failures(_ harness: WriterHarness) -> [StoreFailure] {
        harness.events.withLock { $0 }.compactMap { if case .stopped(let failure) = $0 { failure } else { nil } }
    }

    private func codes(at path: String) throws -> [String] {
        try Database(path: path, .writing).dump("SELECT code FROM orders ORDER BY code")
    }

    @Test(arguments: Deed.allCases) func nothingIsAnsweredWith200Afterwards(deed: Deed) throws {
        defer { for name in [".moved", "-wal.replaced"] { unlink(store.path + name) } }
        let harness = try WriterHarness(store)
        #expect(harness.execute(assign("before", to: "42"))?.status == 200)
        deed.happen(to: store.path)
        for code in ["A", "B"] { #expect(harness.execute(assign(code, to: "42"))?.isUnavailable == true) }
        #expect(harness.post([confirmed(phone(), upTo: 1)]) == .queued)
        if deed == .moveDatabase { rename(store.path + ".moved", store.path) }
        #expect(harness.execute(assign("C", to: "42"))?.isUnavailable == true, "until a restart")
        harness.stop()
        let part: StoreLoss.Part = deed == .deleteLog || deed == .replaceLog ? .log : .database
        guard case .lost(let loss) = failures(harness).first else {
            Issue.record("no failure was reported")
            return
        }
        #expect(failures(harness).count == 1 && loss.part == part && harness.statistics.failure == .lost(loss))
        #expect(loss.isReplaced == (deed == .replaceDatabase || deed == .replaceLog))
        #expect(harness.statistics.unavailable == 3)
    }

    /// A kill would lose it otherwise.
    @Test func whatADeletedLogContainedIsKept() throws {
        let harness = try WriterHarness(store)
        for code in ["A", "B"] { #expect(harness.execute(assign(code, to: "42"))?.status == 200) }
        Deed.deleteLog.happen(to: store.path)
        #expect(harness.execute(assign("C", to: "42"))?.isUnavailable == true)
        let copy = TemporaryStore()
        copy.write(store.bytes())
        #expect(try codes(at: copy.path) == ["A", "B"])
        harness.stop()
        #expect(try codes(at: store.path) == ["A", "B"])
    }

    /// A backup that is moved over the file is what the next start finds: without the log of the file before.
    @Test func aRestoredBackupIsLeftAlone() throws {
        let harness = try WriterHarness(store)
        #expect(harness.execute(assign("A", to: "42"))?.status == 200)
        let backup = store.path + ".copy"
        #expect(try Backup.copy(store.path, to: backup, at: noon).bytes > 0)
        #expect(harness.execute(assign("B", to: "42"))?.status == 200)
        rename(backup, store.path)
        #expect(harness.execute(assign("C", to: "42"))?.isUnavailable == true)
        harness.stop()
        let database = try store.executor().database
        #expect(try database.dump("SELECT code FROM orders") == ["A"] && database.integrityCheck() == ["ok"])
        #expect(unlink(store.path + "-wal.replaced") == 0, "the log of the file before is kept")
    }

    /// Another program may have begun a log of its own.
    @Test func theLogOfAnotherProcessIsNotDeleted() throws {
        let harness = try WriterHarness(store)
        #expect(harness.execute(assign("A", to: "42"))?.status == 200)
        for deed in [Deed.replaceLog, .deleteDatabase] { deed.happen(to: store.path) }
        harness.stop()
        #expect(access(store.path + "-wal", F_OK) == 0)
    }

    @Test func anUntouchedStoreIsNotLost() throws {
        let harness = try WriterHarness(store)
        #expect(harness.execute(assign("A", to: "42"))?.status == 200)
        // Hard links, other times, other permissions: the same files.
        link(store.path, store.path + ".link")
        chmod(store.path, 0o640)
        _ = try codes(at: store.path)
        #expect(harness.execute(assign("B", to: "42"))?.status == 200)
        harness.stop()
        unlink(store.path + ".link")
        #expect(failures(harness) == [])
    }

    // MARK: A second gateway

    @Test func theLockHoldsWithoutItsSideFile() throws {
        let first = try store.executor()
        unlink(store.path + ".lock")
        #expect(throws: StoreError.inUse(store.address, by: nil)) { try store.executor() }
        #expect(throws: StoreError.inUse(store.address, by: nil)) { try store.executor() }
        #expect(try first.commit(assign("A", to: "42")).status == 200)
    }

    @Test func theLockHoldsUnderAnotherName() throws {
        let first = try store.executor()
        let other = TemporaryStore()
        other.write([])
        unlink(other.path)
        link(store.path, other.path)
        #expect(throws: StoreError.inUse(other.address, by: nil)) { try other.executor() }
        #expect(try first.commit(assign("A", to: "42")).status == 200)
    }

    @Test func theLockIsFreeAtTheEnd() throws {
        for code in ["A", "B"] { #expect(try store.executor().commit(assign(code, to: "42")).status == 200) }
    }

    // MARK: Damage

    /// Overwrites the root page of a table or an index of a store that is closed.
    private func damage(_ name: String) throws {
        let page: Int
        do {
            let database = try store.executor().database
            page = try #require(
                try database.first("SELECT rootpage FROM sqlite_master WHERE name = ?", .string(name), as: { Int($0.integer(0)) })
            )
            try database.file.checkpoint()
        }
        let descriptor = open(store.path, O_WRONLY)
        defer { close(descriptor) }
        pwrite(descriptor, [UInt8](repeating: 0xA5, count: 4_096), 4_096, off_t(page - 1) * 4_096)
    }

    @Test(arguments: ["audit_by_age", "idempotency_by_age", "channel_sequences"])
    func damageIsAnOutageUntilARestart(name: String) throws {
        try damage(name)
        let harness = try WriterHarness(store)
        for code in ["A", "B", "C"] {
            #expect(harness.execute(assign(code, to: "42", key: code))?.isUnavailable == true, "\(name)")
        }
        harness.stop()
        guard case .damaged(let error) = harness.statistics.failure else {
            Issue.record("no damage was reported")
            return
        }
        #expect(failures(harness) == [.damaged(error)] && error.kind == .damaged)
        #expect(harness.statistics.failed == 0)
    }

    @Test func damageThatAReaderFindsIsAnOutage() throws {
        let harness = try WriterHarness(store)
        #expect(harness.execute(assign("A", to: "42"))?.status == 200)
        let error = DatabaseError(sqlite: 11, message: "database disk image is malformed", doing: "SELECT")
        for _ in 0..<2 { harness.report(damage: error) }
        #expect(harness.execute(assign("B", to: "42"))?.isUnavailable == true)
        harness.stop()
        #expect(failures(harness) == [.damaged(error)])
    }

    /// Whatever part of the writer meets it.
    @Test func damageIsRecognisedInEveryEvent() {
        let error = DatabaseError(sqlite: 26, message: "file is not a database", doing: "SELECT")
        let events: [StoreEvent] = [
            .unavailable(error), .failed(error, correlationID: "c"), .backgroundTaskFailed(error, kind: "retention"),
            .checkpointFailed(error),
        ]
        for event in events { #expect(event.failure == .damaged(error)) }
        let row = DatabaseError.unreadable("the status 'lost'", doing: "SELECT")
        #expect(StoreEvent.failed(row, correlationID: "c").failure == nil, "one row can be mended")
    }

    // MARK: Backups

    @Test func theLastBackupIsNotedBesideTheStore() throws {
        _ = try store.executor().commit(assign("A", to: "42"))
        #expect(Backup.lastTime(of: store.path) == nil)
        let file = store.directory + "/copy.db"
        defer { unlink(file) }
        #expect(try Backup.copy(store.path, to: file, at: noon).isNoted)
        #expect(Backup.lastTime(of: store.path) == noon)
        #expect(throws: BackupError.self) { try Backup.copy(store.path, to: file, at: noon + 1) }
        #expect(Backup.lastTime(of: store.path) == noon, "a backup that failed is none")
    }
}
