import Observability
import Primitives
import TestSupport
import Testing

@Suite struct LimitLogTests {
    /// The counts to log in each second, for a single limit with this number of rejections per second.
    private func logged(_ rejections: [Int]) -> [Int?] {
        var total = 0
        var log = LimitLog()
        return rejections.enumerated().map { second, count in
            total += count
            let due = log.due([("channels", total), ("buffer_bytes", 0)], at: second)
            #expect(due.allSatisfy { $0.limit == "channels" } && due.count <= 1)
            return due.first?.count
        }
    }

    @Test func logsTheFirstRejectionsAtOnce() {
        #expect(logged([0, 0, 3, 0, 0]) == [nil, nil, 3, nil, nil])
    }

    @Test func logsOncePerIntervalWithTheCountSince() {
        var expected = [Int?](repeating: nil, count: 25)
        (expected[0], expected[10], expected[20]) = (2, 20, 20)
        #expect(logged(Array(repeating: 2, count: 25)) == expected)
    }

    @Test func logsAtOnceAgainAfterAQuietInterval() {
        #expect(logged([5] + Array(repeating: 0, count: 12) + [7]) == [5] + Array(repeating: nil, count: 12) + [7])
    }

    @Test func logsEachLimitByItself() {
        var log = LimitLog()
        func logged(_ one: Int, _ other: Int, at second: Int) -> [String] {
            log.due([("one", one), ("other", other)], at: second).map(\.limit)
        }
        #expect(logged(1, 0, at: 0) == ["one"])
        #expect(logged(2, 1, at: 5) == ["other"])
        #expect(logged(2, 1, at: 10) == ["one"])
    }

    /// In the end every rejection is in exactly one line.
    @Test(arguments: 0..<50) func missesNoRejection(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let rejections = (0..<100).map { _ in random.chance(percent: 30) ? random.below(20) : 0 }
        let lines = logged(rejections + Array(repeating: 0, count: 10))
        #expect(lines.compactMap { $0 }.reduce(0, +) == rejections.reduce(0, +))
        let seconds = lines.indices.filter { lines[$0] != nil }
        #expect(zip(seconds, seconds.dropFirst()).allSatisfy { $1 - $0 >= Int(Timing.limitLogInterval / 1_000) })
    }
}
