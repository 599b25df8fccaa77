import Glibc
import Testing
import Threads

@Suite struct ThreadTests {
    @Test func runsTheBodyOnceOnAnotherThread() {
        let seen = Lock<[pthread_t]>([])
        let thread = Thread(name: "body") { seen.withLock { $0.append(pthread_self()) } }
        thread.join()
        let threads = seen.withLock { $0 }
        #expect(threads.count == 1)
        #expect(threads.first != pthread_self())
    }

    @Test func joinWaitsForTheBody() {
        let barrier = StartBarrier(1)
        let isDone = Lock(false)
        let thread = Thread(name: "slow") {
            barrier.arriveAndWait()
            isDone.withLock { $0 = true }
        }
        barrier.waitForArrival()
        #expect(!isDone.withLock { $0 })
        barrier.open()
        thread.join()
        #expect(isDone.withLock { $0 })
    }

    /// Linux limits a thread's name to 15 bytes.
    @Test(arguments: ["loop-0", "a", "fifteen-letters"]) func setsTheThreadsName(name: String) {
        let seen = Lock("")
        Thread(name: name) { seen.withLock { $0 = Self.ownName() } }.join()
        #expect(seen.withLock { $0 } == name)
    }

    @Test func freesTheBodyAfterItHasRun() {
        final class State: Sendable {}
        weak var state: State?
        do {
            let captured = State()
            state = captured
            Thread(name: "state") { _ = captured }.join()
        }
        #expect(state == nil)
    }

    /// The name of the calling thread, read from the kernel.
    private static func ownName() -> String {
        guard let file = fopen("/proc/thread-self/comm", "r") else { return "" }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 32)
        guard fgets(&buffer, Int32(buffer.count), file) != nil else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
