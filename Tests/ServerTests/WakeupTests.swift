import CLibev
import Testing

@testable import Server

@Suite struct WakeupTests {
    /// Counts its calls in the `Int` to which the watcher's data points.
    private static let count: clibev_async_callback = { _, watcher, _ in
        watcher?.pointee.data.assumingMemoryBound(to: Int.self).pointee += 1
    }

    /// The store may post to a loop before the loop's thread has begun. If its signal were lost, so would be all later ones:
    /// only the first message in a mailbox signals.
    @Test func aSignalBeforeTheStartIsNotLost() {
        let wakeup = Wakeup()
        let calls = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        calls.initialize(to: 0)
        defer { calls.deallocate() }
        wakeup.signal()
        wakeup.start(Self.count, data: calls)
        ev_run(wakeup.loop, Int32(EVRUN_NOWAIT))
        #expect(calls.pointee == 1)
        ev_run(wakeup.loop, Int32(EVRUN_NOWAIT))
        #expect(calls.pointee == 1)
        for _ in 0..<3 { wakeup.signal() }
        ev_run(wakeup.loop, Int32(EVRUN_NOWAIT))
        #expect(calls.pointee == 2, "several signals count as one")
        wakeup.stop()
    }
}
