import Synchronization
import Testing
import Threads

@Suite struct StartBarrierTests {
    @Test func blocksAllThreadsUntilItOpens() {
        let count = 5
        let barrier = StartBarrier(count)
        let arrived = Atomic<Int>(0)
        let passed = Atomic<Int>(0)
        let arrive: @Sendable () -> Void = { arrived.add(1, ordering: .relaxed) }
        let pass: @Sendable () -> Void = { passed.add(1, ordering: .relaxed) }
        let threads = (0..<count).map { index in
            Thread(name: "waiter-\(index)") {
                arrive()
                barrier.arriveAndWait()
                pass()
            }
        }
        for number in 1...count {
            barrier.waitForArrival()
            #expect(arrived.load(ordering: .relaxed) >= number)
            #expect(passed.load(ordering: .relaxed) == 0)
        }
        barrier.open()
        for thread in threads { thread.join() }
        #expect(passed.load(ordering: .relaxed) == count)
    }

    /// A thread may wait for arrivals, or for the opening, after they have happened.
    @Test func countsArrivalsAndOpeningsBeforeTheWait() {
        let barrier = StartBarrier(2)
        barrier.open()
        barrier.arriveAndWait()
        barrier.arriveAndWait()
        barrier.waitForArrival()
        barrier.waitForArrival()
    }
}
