import Glibc
import Testing
import Threads

@Suite struct ClockTests {
    @Test func monotonicClockNeverDecreases() {
        var last = Clock.monotonicNanoseconds()
        for _ in 0..<10_000 {
            let now = Clock.monotonicNanoseconds()
            #expect(now >= last)
            last = now
        }
    }

    @Test func monotonicMillisecondsUseTheSameClock() {
        let before = Int64(Clock.monotonicNanoseconds())
        let milliseconds = Clock.monotonicMilliseconds()
        #expect((before / 1_000_000...Int64(Clock.monotonicNanoseconds()) / 1_000_000).contains(milliseconds))
    }

    @Test func unixMillisecondsAreTheSystemTime() {
        let before = time(nil)
        let milliseconds = Clock.unixMilliseconds()
        // `time` may read a coarser clock that is some milliseconds behind.
        #expect((Int64(before) * 1000...Int64(time(nil) + 2) * 1000).contains(milliseconds))
    }

    @Test func uptimeAdvancesWithTheMonotonicClock() {
        let before = (Clock.monotonicMilliseconds(), Clock.uptimeMilliseconds())
        let after = (Clock.uptimeMilliseconds(), Clock.monotonicMilliseconds())
        #expect((0...after.1 - before.0 + 1).contains(after.0 - before.1))
    }

    @Test func bootIDIsOneLine() {
        #expect(!Clock.bootID.isEmpty && !Clock.bootID.contains("\n") && Clock.bootID == Clock.bootID)
    }
}
