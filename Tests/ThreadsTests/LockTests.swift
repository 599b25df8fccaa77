import Testing
import Threads

@Suite struct LockTests {
    private struct Refused: Error, Equatable {
        let number: Int
    }

    @Test func handsOutTheValueAndWhatTheBodyAnswers() {
        let lock = Lock([1, 2])
        let count = lock.withLock { values in
            values.append(3)
            return values.count
        }
        #expect(count == 3)
        #expect(lock.withLock { $0 } == [1, 2, 3])
    }

    @Test func isOpenAgainAfterAnError() {
        let lock = Lock(0)
        for round in 1...3 {
            #expect(throws: Refused(number: round)) {
                try lock.withLock { value throws(Refused) in
                    value += 1
                    throw Refused(number: value)
                }
            }
        }
        #expect(lock.withLock { $0 } == 3)
    }

    /// Two plain numbers that only change together: whoever sees them differ was let in beside another.
    @Test func letsOneThreadInAtATime() {
        let threadCount = 4
        let roundsEach = 20_000
        let lock = Lock((first: 0, second: 0, torn: 0))
        let gate = StartBarrier(threadCount)
        let threads = (0..<threadCount).map { index in
            Thread(name: "adder-\(index)") {
                gate.arriveAndWait()
                for _ in 0..<roundsEach {
                    lock.withLock { numbers in
                        numbers.first += 1
                        if numbers.first != numbers.second + 1 { numbers.torn += 1 }
                        numbers.second += 1
                    }
                }
            }
        }
        for _ in 0..<threadCount { gate.waitForArrival() }
        gate.open()
        for thread in threads { thread.join() }
        let (first, second, torn) = lock.withLock { $0 }
        #expect(first == threadCount * roundsEach && second == first && torn == 0)
    }

    @Test func freesItsValueWithItself() {
        final class Value: Sendable {}
        weak var value: Value?
        do {
            let lock = Lock(Value())
            lock.withLock { value = $0 }
            #expect(value != nil)
        }
        #expect(value == nil)
    }
}
