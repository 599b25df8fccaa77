import TestSupport
import Testing

@testable import Realtime

@Suite struct StallDetectorTests {
    /// The events of each tick with these beats of a single thread.
    private func events(_ beats: [Int?], abortTicks: Int = 0) -> [[StallDetector.Event]] {
        var detector = StallDetector(threadCount: 1, abortTicks: abortTicks)
        return beats.map { detector.tick([$0]) }
    }

    @Test func aThreadThatBeatsOrEndsIsNotStuck() {
        #expect(events((0..<100).map { $0 }, abortTicks: 5).allSatisfy { $0.isEmpty })
        #expect(events([1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3], abortTicks: 5).allSatisfy { $0.isEmpty })
        #expect(events([1, 2] + Array(repeating: nil, count: 100), abortTicks: 5).allSatisfy { $0.isEmpty })
    }

    @Test func reportsAStuckThreadOncePerEpisode() {
        let found = events([7, 7, 7, 7, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, nil, nil])
        var expected = [[StallDetector.Event]](repeating: [], count: 16)
        expected[5] = [.stalled(thread: 0, ticks: 5)]
        expected[8] = [.recovered(thread: 0, ticks: 7)]
        expected[13] = [.stalled(thread: 0, ticks: 5)]
        expected[14] = [.recovered(thread: 0, ticks: 5)]
        #expect(found == expected)
    }

    @Test(arguments: [(1, 5), (5, 5), (6, 6), (30, 30)]) func abortsAfterTheConfiguredTicks(abortTicks: Int, ticks: Int) {
        let found = events(Array(repeating: 1, count: 60), abortTicks: abortTicks)
        #expect(found.indices.filter { found[$0].contains(.abort(thread: 0, ticks: ticks)) } == [ticks])
        #expect(found[5].first == .stalled(thread: 0, ticks: 5))
    }

    @Test func neverAbortsIfAbortTicksIs0() {
        #expect(events(Array(repeating: 1, count: 10_000)).joined().elementsEqual([.stalled(thread: 0, ticks: 5)]))
    }

    @Test func isStalledWhileAnyThreadIsStuck() {
        var detector = StallDetector(threadCount: 3, abortTicks: 0)
        for tick in 0..<20 {
            let events = detector.tick([tick, min(tick, 3), tick])
            #expect(detector.isStalled == (tick >= 8))
            #expect(events == (tick == 8 ? [.stalled(thread: 1, ticks: 5)] : []))
        }
        #expect(detector.tick([20, 4, 20]) == [.recovered(thread: 1, ticks: 16)] && !detector.isStalled)
    }

    /// While the process was suspended, neither threads nor the watchdog made progress. The first tick afterwards may
    /// come before the threads' beats, but it is only one.
    @Test func aSuspendedProcessIsNotStuck() {
        #expect(events([1, 2, 3, 3, 4, 5, 6], abortTicks: 5).allSatisfy { $0.isEmpty })
    }

    /// An abort is preceded by as many equal beats; `stalled` and `recovered` alternate.
    @Test(arguments: 0..<100) func everyEventHasItsReason(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var detector = StallDetector(threadCount: 1, abortTicks: 8)
        var (beats, equal, isStuck) = (0, 0, false)
        for tick in 0..<300 {
            if tick > 0, random.chance(percent: 80) { equal += 1 } else { (beats, equal) = (beats + 1, 0) }
            for event in detector.tick([beats]) {
                switch event {
                case .stalled(_, let ticks):
                    #expect(ticks == equal && equal == 5 && !isStuck)
                    isStuck = true
                case .recovered:
                    #expect(equal == 0 && isStuck)
                    isStuck = false
                case .abort(_, let ticks): #expect(ticks == equal && equal == 8 && isStuck)
                }
            }
            #expect(detector.isStalled == isStuck && isStuck == (equal >= 5))
        }
    }
}
