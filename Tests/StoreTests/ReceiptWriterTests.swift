import CSQLite
import Glibc
import Testing
import Threads

@testable import Fleet

/// Receipts and subscriptions on their way through the writer.
@Suite struct ReceiptWriterTests {
    /// What commits contained, in their order.
    private final class Recorder: Sendable {
        let commit = Lock(Commit())
        /// The most confirmations in one commit.
        let largest = Lock(0)

        func record(_ later: Commit) {
            largest.withLock { $0 = max($0, later.confirmations.count) }
            commit.withLock { $0.append(later) }
        }

        /// Waits until the commits contain what `isDone` looks for, at most ten seconds.
        func wait(until isDone: (Commit) -> Bool) -> Commit {
            let end = Clock.monotonicMilliseconds() + 10_000
            while true {
                let commit = commit.withLock { $0 }
                if isDone(commit) || Clock.monotonicMilliseconds() > end { return commit }
                sched_yield()
            }
        }
    }

    @Test func aSubscriptionSeesTheReceiptsBeforeIt() throws {
        let barrier = StartBarrier(1)
        let recorder = Recorder()
        let pause = pause(at: barrier)
        let harness = try WriterHarness(
            onCommit: { commit in
                recorder.record(commit)
                pause(commit)
            })
        for _ in 0..<3 { #expect(harness.execute(announce(to: "42"))?.status == 200) }
        harness.post(announce(to: "42"), request: 7)
        barrier.waitForArrival()
        for number in 1...3 {
            #expect(harness.post([confirmed(phone(), after: Int64(number - 1), upTo: Int64(number))]) == .queued)
            #expect(harness.post(subscription(phone(), request: number)) == .queued)
        }
        // The command is committed with them, and executed first.
        harness.post(announce(to: "42"))
        barrier.open()
        harness.stop()
        let commit = recorder.commit.withLock { $0 }
        #expect(commit.subscriptions.map(\.request.replyTo.request) == [1, 2, 3])
        #expect(commit.subscriptions.map(\.cursor) == [1, 2, 3] && commit.subscriptions.map(\.last) == [5, 5, 5])
        #expect(commit.confirmations.count == 3 && commit.droppedReceipts == 0 && commit.rejectedSubscriptions.isEmpty)
        #expect(commit.counts.arrivals.first { $0.key.state == .confirmed }?.value == 3)
        #expect(harness.post([confirmed(phone(), upTo: 4)]) == .queueFull, "stopped")
    }

    @Test func stopWritesWhatIsQueued() throws {
        let store = TemporaryStore()
        let harness = try WriterHarness(store)
        #expect(harness.execute(announce(to: "42"))?.status == 200)
        for _ in 0..<100 { #expect(harness.post([confirmed(phone(), upTo: 1)]) == .queued) }
        harness.stop()
        #expect(try store.executor().cursorRows() == ["driver-42|driver:42|phone|1"])
    }

    /// What comes after the disk was full.
    enum Sequel: CaseIterable { case subscription, nothing, stop }

    /// A subscription must not overtake the receipts that wait: it would repeat what they confirm. They are written in
    /// slices.
    @Test(.fileOnly, arguments: Sequel.allCases) func whileTheDiskIsFullReceiptsWait(for sequel: Sequel) throws {
        let store = TemporaryStore()
        let count = 2_500
        do {
            let executor = try store.executor()
            try executor.transaction { () throws(DatabaseError) in
                for _ in 0..<count { _ = try executor.execute(announce(to: "42"), now: noon) }
            }
        }
        let recorder = Recorder()
        let pages = Lock<(max: Int, handle: UInt)>((0, 0))
        // Only the writer's thread may use its connection, so onCommit changes the limit.
        let harness = try WriterHarness(
            store,
            onOpen: { (executor: CommandExecutor) throws(DatabaseError) in
                try executor.database.run("PRAGMA max_page_count = 1")  // SQLite raises the limit to the size of the file
                pages.withLock { $0.handle = UInt(bitPattern: executor.database.file.handle) }
            },
            onCommit: { commit in
                // Before the recorder lets the test go on, which sets `max` for the next commit.
                pages.withLock { state in
                    guard state.max > 0, let handle = OpaquePointer(bitPattern: state.handle) else { return }
                    sqlite3_exec(handle, "PRAGMA max_page_count = \(state.max)", nil, nil, nil)
                }
                recorder.record(commit)
            })
        // The device has a cursor, so that its subscription writes nothing.
        #expect(harness.post(subscription(phone("b"))) == .queued)
        _ = recorder.wait { !$0.subscriptions.isEmpty }
        // onCommit raises the limit when the subscription is refused, so the next attempt succeeds.
        pages.withLock { $0.max = 1_000_000 }
        let receipts = (1...Int64(count)).map { confirmed(phone("b"), after: $0 - 1, upTo: $0) }
        #expect(harness.post(receipts) == .queued)
        #expect(harness.post(subscription(phone("b"))) == .queued)
        let refused = recorder.wait { !$0.rejectedSubscriptions.isEmpty }
        #expect(refused.subscriptions.count == 1 && refused.droppedReceipts == 0 && refused.confirmations.isEmpty)

        switch sequel {
        case .subscription:
            #expect(harness.post(subscription(phone("b"))) == .queued)
            let commit = recorder.wait { $0.subscriptions.count == 2 }
            #expect(commit.subscriptions.last?.cursor == Int64(count) && commit.confirmations.count == count)
        case .nothing: _ = recorder.wait { $0.confirmations.count == count }
        case .stop: break
        }
        harness.stop()
        #expect(try store.executor().count(deliveryRows) == count)
        #expect(recorder.largest.withLock { $0 } == 1_000)
    }

    @Test(.fileOnly) func receiptsBeyondTheLimitAreDroppedWhileTheDiskIsFull() throws {
        let recorder = Recorder()
        let harness = try WriterHarness(
            onOpen: { (executor: CommandExecutor) throws(DatabaseError) in
                try executor.database.run("PRAGMA max_page_count = 1")  // SQLite raises the limit to the size of the file
            },
            onCommit: { recorder.record($0) })
        // Of a driver each, because the cursors of one would fit.
        let receipts = (0..<WriterLoop.refusedReceiptsMax + 2).map { confirmed(phone(of: "\($0)"), upTo: 0) }
        #expect(harness.post(receipts) == .queued)
        #expect(recorder.wait { $0.droppedReceipts > 0 }.droppedReceipts == 2)
        harness.stop()
    }

    /// A new device's subscription writes a row.
    @Test(.fileOnly) func anErrorReturnsOnlyItsOwnRequest() throws {
        let barrier = StartBarrier(1)
        let recorder = Recorder()
        let pause = pause(at: barrier)
        let poison = """
            CREATE TRIGGER poison BEFORE INSERT ON cursors WHEN NEW.device = 'poison' \
            BEGIN SELECT RAISE(ABORT, 'poisoned'); END
            """
        let harness = try WriterHarness(
            onOpen: { (executor: CommandExecutor) throws(DatabaseError) in try executor.database.run(poison) },
            onCommit: { commit in
                recorder.record(commit)
                pause(commit)
            })
        harness.post(announce(to: "42"), request: 7)
        barrier.waitForArrival()
        let bad = (receipt: confirmed(phone("poison"), upTo: 1), request: subscription(phone("poison")))
        _ = harness.post([confirmed(phone(), upTo: 1)])
        _ = harness.post([bad.receipt])
        _ = harness.post(bad.request)
        _ = harness.post(subscription(phone()))
        barrier.open()
        harness.stop()
        let commit = recorder.commit.withLock { $0 }
        #expect(commit.droppedReceipts == 1 && commit.rejectedSubscriptions == [bad.request])
        #expect(commit.subscriptions.map(\.cursor) == [1] && commit.confirmations.map(\.device) == ["phone"])
        #expect(harness.statistics.failed == 2)
    }
}
