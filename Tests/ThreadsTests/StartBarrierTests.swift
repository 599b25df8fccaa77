import Synchronization
import Testing
import Threads

@Suite struct StartBarrierTests {
    @Test func letsNobodyPassBeforeItOpensAndThenEverybody() {
        let count = 5
        let gate = StartBarrier(count)
        let arrived = Atomic<Int>(0)
        let passed = Atomic<Int>(0)
        let arrive: @Sendable () -> Void = { arrived.add(1, ordering: .relaxed) }
        let pass: @Sendable () -> Void = { passed.add(1, ordering: .relaxed) }
        let threads = (0..<count).map { index in
            Thread(name: "guest-\(index)") {
                arrive()
                gate.arriveAndWait()
                pass()
            }
        }
        for number in 1...count {
            gate.waitForArrival()
            #expect(arrived.load(ordering: .relaxed) >= number)
            #expect(passed.load(ordering: .relaxed) == 0)
        }
        gate.open()
        for thread in threads { thread.join() }
        #expect(passed.load(ordering: .relaxed) == count)
    }

    /// An arrival is counted, not signalled: whoever waits for it may come later.
    @Test func remembersArrivalsAndTheOpening() {
        let gate = StartBarrier(2)
        gate.open()
        gate.arriveAndWait()
        gate.arriveAndWait()
        gate.waitForArrival()
        gate.waitForArrival()
    }
}
