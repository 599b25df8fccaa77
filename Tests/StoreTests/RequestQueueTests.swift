import Testing
import Threads

@testable import Fleet

@Suite struct RequestQueueTests {
    private static let receipts = StoreWriter.Request.receipts([confirmed(phone(), upTo: 1)])
    private static let cursor = StoreWriter.Request.subscription(subscription(phone()))

    private func queue(receiptsWait: Int64) -> RequestQueue {
        RequestQueue(RequestBacklog(countMax: 100, perSubjectMax: 10), receiptsWait: receiptsWait)
    }

    private func take(_ queue: RequestQueue, waiting milliseconds: Int64 = 60_000) -> [StoreWriter.Request] {
        var batch: [StoreWriter.Request] = []
        _ = queue.take(into: &batch, most: 256, waiting: milliseconds)
        return batch
    }

    /// A subscription must see the receipts that were posted before it, at once.
    @Test func receiptsWaitForTheNextRequest() {
        let queue = queue(receiptsWait: 600_000)
        #expect(queue.post(Self.receipts) == .queued)
        let poster = Thread(name: "poster") { #expect(queue.post(Self.cursor) == .queued) }
        #expect(take(queue) == [Self.receipts, Self.cursor])
        poster.join()
    }

    @Test func receiptsWaitNoLongerThanTheirTime() {
        let queue = queue(receiptsWait: 20)
        #expect(queue.post(Self.receipts) == .queued)
        let begin = Clock.monotonicMilliseconds()
        #expect(take(queue) == [Self.receipts])
        #expect(Clock.monotonicMilliseconds() - begin >= 20)
        #expect(take(queue, waiting: 0) == [])
    }

    /// The writer has other work, between which it looks at the queue.
    @Test func receiptsDoNotKeepABusyWriterWaiting() {
        let queue = queue(receiptsWait: 600_000)
        #expect(queue.post(Self.receipts) == .queued)
        #expect(take(queue, waiting: 0) == [Self.receipts])
    }

    @Test func closingEndsTheWait() {
        let queue = queue(receiptsWait: 600_000)
        #expect(queue.post(Self.receipts) == .queued)
        let closer = Thread(name: "closer") { queue.close() }
        #expect(take(queue) == [Self.receipts])
        closer.join()
        var batch: [StoreWriter.Request] = []
        #expect(queue.take(into: &batch, most: 1, waiting: 60_000) == .closed)
    }
}
