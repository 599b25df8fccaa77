import Testing
import Threads

@testable import Store

@Suite struct StoreWriterTests {
    @Test func settlesInTheOrderOfPosting() throws {
        let scene = try WriterHarness(batchMax: 50)
        for number in 0..<500 { scene.post(assign("A\(number)", to: "\(number % 7)"), request: number) }
        let answers = scene.replies(500)
        #expect(answers.map(\.request.replyTo.request) == Array(0..<500))
        #expect(answers.allSatisfy { $0.reply.status == 200 })
        scene.stop()
        let batches = scene.batches.withLock { $0 }
        #expect(batches.reduce(0, +) == 500 && batches.allSatisfy { $0 <= 50 })
        let statistics = scene.statistics
        #expect(statistics.commits == batches.count && statistics.commands == 500 && statistics.queueDepth == 0)
        #expect(statistics.commitBuckets.reduce(0, +) == statistics.commits && statistics.commitNanoseconds > 0)
        // The order of the answers is that of the log.
        let ids = answers.flatMap { $0.reply.notifications.map(\.id) }
        #expect(ids == ids.sorted())
        let stored = try scene.store.ledger().database.dump("SELECT id FROM notifications ORDER BY id")
        #expect(stored == ids)
    }

    /// Whatever waits during one commit shares the next one.
    @Test func whatWaitsSharesACommit() throws {
        let gate = StartBarrier(1)
        let scene = try WriterHarness(onCommit: pause(at: gate))
        scene.post(assign("first", to: "42"), request: 7)
        gate.waitForArrival()
        for number in 0..<300 { scene.post(assign("A\(number)", to: "42", key: "same")) }
        #expect(scene.statistics.queueDepth == 300)
        gate.open()
        let answers = scene.replies(301)
        scene.stop()
        #expect(scene.batches.withLock { $0 } == [1, 256, 44])
        // Twins in one batch, and in the next.
        #expect(answers.dropFirst().map { $0.reply.isReplay } == [false] + [Bool](repeating: true, count: 299))
    }

    @Test func saysNoWhenTooManyWait() throws {
        let gate = StartBarrier(1)
        let scene = try WriterHarness(
            queueMax: 3, onCommit: pause(at: gate))
        scene.post(assign("first", to: "42"), request: 7)
        gate.waitForArrival()
        #expect((0..<5).map { scene.post(assign("A\($0)", to: "42")) } == [true, true, true, false, false])
        gate.open()
        #expect(scene.replies(4).count == 4)
        #expect(scene.execute(assign("later", to: "42"))?.status == 200)
        scene.stop()
    }

    @Test func stoppingSettlesWhatWaitsAndLeavesOneFile() throws {
        let scene = try WriterHarness()
        for number in 0..<300 { scene.post(assign("A\(number)", to: "42"), request: number) }
        scene.stop()
        #expect(!scene.post(assign("late", to: "42")))
        #expect(scene.replies(300).count == 300)
        #expect(scene.events.withLock { $0 } == [])
        let database = try Database(path: "file:\(scene.store.path)", .reading)
        #expect(try database.dump("SELECT COUNT(*) FROM orders") == ["300"])
    }

    @Test func showsWhatIsThereBeforeItBegins() throws {
        let room = TemporaryStore()
        do { _ = try room.ledger().settle(assign("A", to: "42")) }
        let seen = Lock<[String]>([])
        let scene = try WriterHarness(
            room,
            onOpen: { (ledger: CommandExecutor) throws(DatabaseError) in
                try ledger.openOrders { order in seen.withLock { $0.append(order.code) } }
            })
        #expect(seen.withLock { $0 } == ["A"])
        scene.stop()
    }

    @Test func doesNotStartWhereItCannot() throws {
        let scene = try WriterHarness()
        let error = #expect(throws: StoreError.self) { try WriterHarness(scene.store) }
        if case .inUse = error {} else { Issue.record("\(String(describing: error))") }
        #expect(throws: StoreError.self) {
            try WriterHarness(onOpen: { (_: CommandExecutor) throws(DatabaseError) in throw .misread("it", doing: "starting") })
        }
        scene.stop()
        let next = try WriterHarness(scene.store)
        next.stop()
    }

    @Test func forgetsWhatIsOldWhileNothingElseIsToDo() throws {
        let room = TemporaryStore()
        do { _ = try room.ledger(at: noon - 60 * day).settle(assign("A", to: "42", key: "k"), at: noon - 60 * day) }
        let scene = try WriterHarness(room)
        let deadline = Clock.monotonicNanoseconds() + 10_000_000_000
        var none: [WriterHarness.Reply] = []
        while scene.statistics.deleted < 5, Clock.monotonicNanoseconds() < deadline {
            _ = scene.replies.take(into: &none, most: 1, waiting: 10)
        }
        scene.stop()
        #expect(scene.statistics.deleted == 5)  // three notifications, an audit entry, an answer
        #expect(try room.ledger().database.dump("SELECT code FROM orders") == ["A"])
    }
}
