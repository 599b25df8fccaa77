import Testing
import Threads

@testable import Fleet

@Suite struct StoreWriterTests {
    @Test func repliesInTheOrderOfPosting() throws {
        let harness = try WriterHarness(batchMax: 50)
        for number in 0..<500 { harness.post(assign("A\(number)", to: "\(number % 7)"), request: number) }
        let replies = harness.replies(500)
        #expect(replies.map(\.request.replyTo?.request) == Array(0..<500))
        #expect(replies.allSatisfy { $0.reply.status == 200 })
        harness.stop()
        let batches = harness.batches.withLock { $0 }
        #expect(batches.reduce(0, +) == 500 && batches.allSatisfy { $0 <= 50 })
        let statistics = harness.statistics
        #expect(statistics.commits == batches.count && statistics.commands == 500 && statistics.queueDepth == 0)
        #expect(statistics.commitBuckets.reduce(0, +) == statistics.commits && statistics.commitNanoseconds > 0)
        // The replies are in the order of the notification log.
        let ids = replies.flatMap { $0.reply.notifications.map(\.id) }
        #expect(ids == ids.sorted())
        let stored = try harness.store.executor().database.dump("SELECT id FROM notifications ORDER BY id")
        #expect(stored == ids)
    }

    /// Their clients have got 503.
    @Test func commandsThatHaveWaitedTooLongAreNotExecuted() throws {
        let harness = try WriterHarness()
        #expect(harness.postResult(assign("A", to: "42"), request: 1, age: 10_500) == .queued)
        #expect(harness.postResult(assign("B", to: "42"), request: 2, age: 9_000) == .queued)
        let replies = harness.replies(2).sorted { ($0.request.replyTo?.request ?? 0) < ($1.request.replyTo?.request ?? 0) }
        #expect(replies[0].reply.isUnavailable && replies[1].reply.status == 200)
        harness.stop()
        #expect(harness.statistics.unavailable == 1)
        #expect(try harness.store.executor().database.dump("SELECT code FROM orders") == ["B"])
    }

    /// Commands that arrive during a commit share the next one, as many as the rows that they declare permit.
    @Test func queuedCommandsShareACommit() throws {
        let barrier = StartBarrier(1)
        let harness = try WriterHarness(onCommit: pause(at: barrier))
        harness.post(assign("first", to: "42"), request: 7)
        barrier.waitForArrival()
        for number in 0..<300 { harness.post(assign("A\(number)", to: "42", key: "same")) }
        #expect(harness.statistics.queueDepth == 300)
        barrier.open()
        let replies = harness.replies(301)
        harness.stop()
        let most = RequestPriority.dispatch.rowsMax / assign("A", to: "42", key: "same").rows
        #expect(most > 100 && harness.batches.withLock { $0 } == [1, most, 300 - most])
        // All commands but the first have the same idempotency key: one is executed; the others, in its batch and in
        // the next, get its response.
        #expect(replies.dropFirst().map { $0.reply.isReplay } == [false] + [Bool](repeating: true, count: 299))
    }

    @Test func fullQueueRejectsCommands() throws {
        let barrier = StartBarrier(1)
        let harness = try WriterHarness(
            queueMax: 3, onCommit: pause(at: barrier))
        harness.post(assign("first", to: "42"), request: 7)
        barrier.waitForArrival()
        #expect((0..<5).map { harness.post(assign("A\($0)", to: "42")) } == [true, true, true, false, false])
        barrier.open()
        #expect(harness.replies(4).count == 4)
        #expect(harness.execute(assign("later", to: "42"))?.status == 200)
        harness.stop()
    }

    @Test func stopExecutesQueuedCommandsAndMovesTheWriteAheadLogIntoTheFile() throws {
        let harness = try WriterHarness()
        for number in 0..<300 { harness.post(assign("A\(number)", to: "42"), request: number) }
        harness.stop()
        #expect(!harness.post(assign("late", to: "42")))
        #expect(harness.replies(300).count == 300)
        #expect(harness.events.withLock { $0 } == [])
        let database = try Database.open(readingFrom: harness.store.address)
        #expect(try database.dump("SELECT COUNT(*) FROM orders") == ["300"])
    }

    @Test func onOpenSeesTheStoredOrders() throws {
        let store = TemporaryStore()
        do { _ = try store.executor().commit(assign("A", to: "42")) }
        let seen = Lock<[String]>([])
        let harness = try WriterHarness(
            store,
            onOpen: { (executor: CommandExecutor) throws(DatabaseError) in
                try executor.openOrders { order in seen.withLock { $0.append(order.code) } }
            })
        #expect(seen.withLock { $0 } == ["A"])
        harness.stop()
    }

    @Test func doesNotStartIfOpeningFails() throws {
        let harness = try WriterHarness()
        let error = #expect(throws: StoreError.self) { try WriterHarness(harness.store) }
        if case .inUse = error {} else { Issue.record("\(String(describing: error))") }
        #expect(throws: StoreError.self) {
            try WriterHarness(onOpen: { (_: CommandExecutor) throws(DatabaseError) in
                throw .unreadable("a row", doing: "starting")
            })
        }
        harness.stop()
        let next = try WriterHarness(harness.store)
        next.stop()
    }

    @Test func retentionRunsWhileIdle() throws {
        let store = TemporaryStore()
        do { _ = try store.executor(at: noon - 60 * day).commit(assign("A", to: "42", key: "k"), at: noon - 60 * day) }
        let harness = try WriterHarness(store)
        let deadline = Clock.monotonicNanoseconds() + 10_000_000_000
        var none: [WriterHarness.Reply] = []
        while harness.statistics.deleted < 5, Clock.monotonicNanoseconds() < deadline {
            _ = harness.replies.take(into: &none, most: 1, waiting: 10)
        }
        harness.stop()
        #expect(harness.statistics.deleted == 5)  // three notifications, an audit entry, a stored response
        #expect(try store.executor().database.dump("SELECT code FROM orders") == ["A"])
    }
}
