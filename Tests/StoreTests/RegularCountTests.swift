import Testing
import Threads

@testable import Fleet

@Suite struct RegularCountTests {
    private let store = TemporaryStore()
    private let none = PushQueue(depth: 0, oldestAt: nil)

    private func executor() throws -> CommandExecutor {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("42"), by: driver("42")))
        return executor
    }

    @Test func countsQueuedAndWaitingJobs() throws {
        let executor = try executor()
        for offset in [0, 5, 6] as [Int64] { _ = try executor.commit(announce(to: "42"), at: noon + offset) }
        let reader = QueryExecutor(try Database.open(readingFrom: store.address))
        #expect(try reader.pushQueues() == [.fcm: PushQueue(depth: 3, oldestAt: noon), .apns: none, .apnsSandbox: none])
        let job = try executor.claim(1, at: noon + 10)[0]
        #expect(try reader.pushQueues()[.fcm] == PushQueue(depth: 2, oldestAt: noon + 5), "one job is being sent")
        try executor.report([PushOutcome(job, .retry(at: noon + 60_000, reason: "503"), wasTried: true)], at: noon + 12)
        #expect(try reader.pushQueues()[.fcm] == PushQueue(depth: 3, oldestAt: noon), "it waits")
    }

    /// The share of the reader's time that counting takes is bounded, however many jobs there are.
    @Test func countsMoreRarelyIfACountTakesLong() throws {
        do { _ = try executor() }
        let reader = QueryExecutor(try Database.open(readingFrom: store.address))
        let second: UInt64 = 1_000_000_000
        var count = RegularCount()
        func isCounted(at start: UInt64, until end: UInt64) throws -> Bool {
            var times = [start, end]
            return try count.next(now: { times.removeFirst() }, counting: { () throws(DatabaseError) in try reader.pushQueues() })
                != nil
        }
        #expect(try isCounted(at: second, until: second))
        #expect(try !isCounted(at: second * 3 / 2 - 1, until: 0))
        #expect(try isCounted(at: second * 3 / 2, until: second * 2))
        #expect(try !isCounted(at: second * 6 - 1, until: 0), "the count took half a second")
        #expect(try isCounted(at: second * 6, until: second * 6))
    }

    @Test func reportsAFailureOnce() throws {
        do { _ = try executor() }
        let reader = QueryExecutor(try Database.open(readingFrom: store.address))
        try Database.open(besideGateway: store.address).run("DROP TABLE push_jobs")
        var count = RegularCount()
        var now: UInt64 = 0
        func next() throws -> [PushLane: PushQueue]? {
            now += 1_000_000_000
            return try count.next(now: { now }, counting: { () throws(DatabaseError) in try reader.pushQueues() })
        }
        #expect(throws: DatabaseError.self) { try next() }
        for _ in 0..<3 { #expect(try next() == nil) }
    }

    @Test func theReaderCounts() throws {
        do { _ = try executor().commit(announce(to: "42")) }
        let queues = WorkQueue<[PushLane: PushQueue]>(capacity: 10)
        let reader = try StoreReader(
            store.address, encode: { _ in [] }, onReplies: { _ in }, onPushQueues: { _ = queues.post($0) },
            onError: { Issue.record("\($0)") }, now: { noon })
        var batch: [[PushLane: PushQueue]] = []
        #expect(queues.take(into: &batch, most: 1, waiting: 20_000) == .items)
        #expect(batch.first?[.fcm] == PushQueue(depth: 1, oldestAt: noon))
        reader.stop()
    }
}
