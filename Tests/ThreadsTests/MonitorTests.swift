import Testing
import Threads

@Suite struct MonitorTests {
    @Test func signalAllWakesAllThreadsThatSleep() {
        let monitor = Monitor((asleep: 0, isOver: false))
        let threads = (0..<3).map { index in
            Thread(name: "sleeper-\(index)") {
                monitor.withLock { $0.asleep += 1 }
                monitor.signalAll()
                monitor.wait(milliseconds: nil, until: \.isOver, then: { _ in })
            }
        }
        monitor.wait(milliseconds: nil, until: { $0.asleep == threads.count }, then: { _ in })
        monitor.withLock { $0.isOver = true }
        monitor.signalAll()
        for thread in threads { thread.join() }
        #expect(monitor.withLock { $0.isOver })
    }
}
