import Testing
import Threads

@Suite struct LockTests {
    private struct TestError: Error, Equatable {
        let number: Int
    }

    @Test func givesAccessToTheValueAndReturnsTheBodysResult() {
        let lock = Lock([1, 2])
        let count = lock.withLock { values in
            values.append(3)
            return values.count
        }
        #expect(count == 3)
        #expect(lock.withLock { $0 } == [1, 2, 3])
    }

    @Test func unlocksAfterAnError() {
        let lock = Lock(0)
        for round in 1...3 {
            #expect(throws: TestError(number: round)) {
                try lock.withLock { value throws(TestError) in
                    value += 1
                    throw TestError(number: value)
                }
            }
        }
        #expect(lock.withLock { $0 } == 3)
    }

    /// Each thread increments two numbers while it has the lock. A thread that sees a different state counts it as
    /// torn: another thread had the lock at the same time.
    @Test func admitsOneThreadAtATime() {
        let threadCount = 4
        let roundsEach = 20_000
        let lock = Lock((first: 0, second: 0, torn: 0))
        let barrier = StartBarrier(threadCount)
        let threads = (0..<threadCount).map { index in
            Thread(name: "adder-\(index)") {
                barrier.arriveAndWait()
                for _ in 0..<roundsEach {
                    lock.withLock { numbers in
                        numbers.first += 1
                        if numbers.first != numbers.second + 1 { numbers.torn += 1 }
                        numbers.second += 1
                    }
                }
            }
        }
        for _ in 0..<threadCount { barrier.waitForArrival() }
        barrier.open()
        for thread in threads { thread.join() }
        let (first, second, torn) = lock.withLock { $0 }
        #expect(first == threadCount * roundsEach && second == first && torn == 0)
    }

    @Test func freesTheValue() {
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
