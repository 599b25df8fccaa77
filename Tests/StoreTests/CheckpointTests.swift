import Testing

@testable import Fleet

/// Commits do not copy the write-ahead log into the database file; the checkpointer does, and the log stays bounded.
@Suite(.fileOnly) struct CheckpointTests {
    // MARK: Schedule

    private var schedule = CheckpointSchedule()

    @Test mutating func copiesAfterEachStep() {
        #expect(schedule.committed(pages: 999) == .none)
        #expect(schedule.committed(pages: 1_000) == .copy)
        #expect(schedule.committed(pages: 3_000) == .none, "the step is not over")
        schedule.copied(all: true)
        #expect(schedule.committed(pages: 3_001) == .copy, "2,001 since the step began")
        schedule.copied(all: false)
        #expect(schedule.committed(pages: 4_000) == .none && schedule.committed(pages: 4_001) == .copy)
    }

    @Test mutating func countsPagesOfALogThatBeganAnew() {
        #expect(schedule.committed(pages: 600) == .none)
        #expect(schedule.committed(pages: 399) == .none)
        #expect(schedule.committed(pages: 400) == .copy)
    }

    @Test mutating func writerCopiesTheRestOfALongLogOnceForEachStep() {
        #expect(schedule.committed(pages: 7_900) == .copy)
        schedule.copied(all: true)
        #expect(schedule.committed(pages: 8_000) == .copyRest)
        #expect(schedule.committed(pages: 8_100) == .none, "a reader kept the log from beginning anew")
        #expect(schedule.committed(pages: 8_900) == .copy)
        #expect(schedule.committed(pages: 8_901) == .none)
        schedule.copied(all: true)
        #expect(schedule.committed(pages: 8_902) == .copyRest)
        #expect(schedule.committed(pages: 10) == .none)
    }

    @Test mutating func writerDoesNotCopyWhatAReaderHolds() {
        #expect(schedule.committed(pages: 9_000) == .copy)
        schedule.copied(all: false)
        #expect(schedule.committed(pages: 9_001) == .none)
        #expect(schedule.committed(pages: 10_000) == .copy)
    }

    @Test mutating func reportsALongLogOnceUntilItBeginsAnew() {
        func isAlarmDue(_ pages: Int) -> Bool {
            _ = schedule.committed(pages: pages)
            return schedule.isAlarmDue()
        }
        let due = [15_999, 16_000, 17_000, 12_000, 16_000, 5, 16_000, 16_001].filter(isAlarmDue)
        #expect(due == [16_000, 16_000], "the second and the seventh")
    }

    // MARK: Database

    private let store = TemporaryStore()

    private static func commit(_ executor: CommandExecutor, untilLogHas pages: Int) throws {
        for number in 0..<10_000 where (executor.database.sqlite?.logPages ?? 0) < pages {
            _ = try executor.commit(assign("A\(number)", to: "42"))
        }
    }

    @Test func commitsDoNotCopyTheLog() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("first", to: "42"))
        let size = StoreFile.sizes(path: store.path).file
        try Self.commit(executor, untilLogHas: 4_500)  // SQLite's default is 1,000
        #expect((executor.database.sqlite?.logPages ?? 0) >= 4_500)
        #expect(StoreFile.sizes(path: store.path).file == size)
        #expect(StoreFile.sizes(path: store.path).log > 4_500 * 4_096)
    }

    @Test func logBeginsAnewOnceItIsCopied() throws {
        let executor = try store.executor()
        try Self.commit(executor, untilLogHas: (executor.database.sqlite?.logPages ?? 0) + 100)
        let copier = try SQLiteConnection(copyingLogOf: store.path)
        let reader = try Database.open(readingFrom: store.address)
        try reader.run("BEGIN")
        #expect(try reader.dump("SELECT COUNT(*) FROM orders") != ["0"])
        let before = (executor.database.sqlite?.logPages ?? 0)
        _ = try executor.commit(assign("B", to: "42"))
        let held = try copier.copyLog()
        #expect(held.copied == before && held.pages == (executor.database.sqlite?.logPages ?? 0), "the reader holds the rest")
        try reader.run("COMMIT")
        let all = try copier.copyLog()
        #expect(all.copied == all.pages && all.pages == (executor.database.sqlite?.logPages ?? 0))
        _ = try executor.commit(assign("C", to: "42"))
        #expect((executor.database.sqlite?.logPages ?? 0) < before)
        #expect(try executor.database.integrityCheck() == ["ok"])
    }

    // MARK: Writer

    /// A writer that never pauses: the queue is never empty.
    @Test func logOfABusyWriterStaysBounded() throws {
        let harness = try WriterHarness(store, batchMax: 1)
        var posted = 0
        for _ in 0..<200 { posted += harness.post(assign("A\(posted)", to: "42")) ? 1 : 0 }
        for _ in 0..<2_000 {
            guard harness.replies(1).first?.reply.status == 200 else { break }
            posted += harness.post(assign("A\(posted)", to: "42")) ? 1 : 0
        }
        #expect(harness.replies(200).count == 200)
        // Without a checkpoint, the log would have more pages than that.
        #expect(harness.fileSizes.log < 2 * CheckpointSchedule.restartPages * 4_096)
        #expect(harness.events.withLock { $0 } == [])
        harness.stop()
        #expect(try store.executor().count("orders") == 2_200)
    }
}
