import Glibc
import Testing
import Threads

@Suite struct WorkQueueTests {
    @Test func takesItemsInOrderInLimitedBatches() {
        let queue = WorkQueue<Int>(capacity: 10)
        var batch: [Int] = []
        var taken: [Int] = []
        for round in 0..<50 {
            for number in 0..<7 { #expect(queue.post(round * 7 + number)) }
            while queue.depth > 0 {
                #expect(queue.take(into: &batch, most: 3) == .items)
                #expect(batch.count <= 3 && !batch.isEmpty)
                taken += batch
            }
        }
        #expect(taken == Array(0..<350))
    }

    @Test func rejectsItemsWhileFull() {
        let queue = WorkQueue<Int>(capacity: 3)
        var batch: [Int] = []
        for _ in 0..<5 {
            #expect((0..<5).map { queue.post($0) } == [true, true, true, false, false])
            #expect(queue.depth == 3)
            _ = queue.take(into: &batch, most: 1)
            #expect(batch == [0] && queue.depth == 2)
            #expect(queue.post(9) && !queue.post(9))
            _ = queue.take(into: &batch, most: 9)
            #expect(batch == [1, 2, 9] && queue.depth == 0)
        }
        #expect(!WorkQueue<Int>(capacity: 0).post(1))
    }

    @Test func takeTimesOut() {
        let queue = WorkQueue<Int>(capacity: 3)
        var batch = [7]
        #expect(queue.take(into: &batch, most: 1, waiting: 0) == .timedOut)
        #expect(batch.isEmpty)
        let start = Clock.monotonicNanoseconds()
        #expect(queue.take(into: &batch, most: 1, waiting: 20) == .timedOut)
        #expect(Clock.monotonicNanoseconds() - start >= 20_000_000)
        #expect(queue.post(1))
        #expect(queue.take(into: &batch, most: 1, waiting: 1_000_000) == .items)
    }

    @Test func closedQueueReturnsItsItemsFirst() {
        let queue = WorkQueue<Int>(capacity: 3)
        #expect(queue.post(1) && queue.post(2))
        queue.close()
        #expect(!queue.post(3))
        var batch: [Int] = []
        #expect(queue.take(into: &batch, most: 1) == .items && batch == [1])
        #expect(queue.take(into: &batch, most: 1) == .items && batch == [2])
        for _ in 0..<2 { #expect(queue.take(into: &batch, most: 1) == .closed && batch.isEmpty) }
    }

    @Test func closeWakesTheWorker() {
        let queue = WorkQueue<Int>(capacity: 1)
        let barrier = StartBarrier(1)
        let waiter = Thread(name: "waiter") {
            var batch: [Int] = []
            barrier.arriveAndWait()
            #expect(queue.take(into: &batch, most: 1) == .closed)
        }
        barrier.waitForArrival()
        barrier.open()
        queue.close()
        waiter.join()
    }

    /// Workers sleep while the queue is empty; who takes an item wakes the next one. At the end all of them learn of it.
    @Test func severalWorkersTakeEachItemOnce() {
        let queue = WorkQueue<Int>(capacity: 16)
        let taken = Lock<[Int]>([])
        let workers = (0..<4).map { number in
            Thread(name: "worker-\(number)") {
                var batch: [Int] = []
                while queue.take(into: &batch, most: 1, waiting: 10_000) == .items { taken.withLock { $0 += batch } }
                #expect(queue.isClosed)
            }
        }
        for number in 0..<5000 { while !queue.post(number) {} }
        queue.close()
        for worker in workers { worker.join() }
        #expect(taken.withLock { $0.sorted() } == Array(0..<5000))
    }

    /// One worker is busy until the other one has taken the item that came with its own.
    @Test func anItemDoesNotWaitForABusyWorker() {
        let queue = WorkQueue<Int>(capacity: 16)
        let both = WorkQueue<Int>(capacity: 2)
        let workers = (0..<2).map { number in
            Thread(name: "worker-\(number)") {
                var batch: [Int] = []
                #expect(queue.take(into: &batch, most: 1, waiting: 10_000) == .items)
                _ = both.post(batch[0])
                while both.depth < 2, !both.isClosed { sched_yield() }
            }
        }
        #expect(queue.post(1) && queue.post(2))
        for worker in workers { worker.join() }
        #expect(both.depth == 2)
    }

    /// No item is lost or duplicated, and the items of each sender stay in order, although the worker sleeps whenever
    /// the queue is empty.
    @Test func losesNoItemBetweenThreads() {
        let queue = WorkQueue<(sender: Int, number: Int)>(capacity: 64)
        let senders = (0..<4).map { sender in
            Thread(name: "sender-\(sender)") {
                for number in 0..<5000 { while !queue.post((sender, number)) {} }
            }
        }
        var next = [0, 0, 0, 0]
        var batch: [(sender: Int, number: Int)] = []
        while next != [5000, 5000, 5000, 5000], queue.take(into: &batch, most: 17, waiting: 10_000) == .items {
            for item in batch {
                #expect(item.number == next[item.sender])
                next[item.sender] += 1
            }
        }
        for sender in senders { sender.join() }
        #expect(next == [5000, 5000, 5000, 5000])
        #expect(queue.depth == 0)
    }
}
