import Observability
import TestSupport
import Testing
import Threads

@Suite struct LimitCountersTests {
    @Test func countsEachLimitSeparately() {
        let counters = LimitCounters()
        for (number, limit) in Limit.allCases.enumerated() {
            for _ in 0...number { counters.count(limit) }
        }
        #expect(Limit.allCases.map { counters[$0] } == Limit.allCases.indices.map { $0 + 1 })
    }

    @Test func losesNoCountBetweenThreads() {
        let counters = LimitCounters()
        let threads = (0..<4).map { _ in
            Thread(name: "counting") { for _ in 0..<10_000 { counters.count(.connectionsPerIP) } }
        }
        for thread in threads { thread.join() }
        #expect(counters[.connectionsPerIP] == 40_000 && counters[.handshakesPerIP] == 0)
    }

    /// Labels are public, and keys of the configuration.
    @Test func labelsAreConfigurationKeys() {
        #expect(Limit.allCases.map(\.rawValue) == ["connections_per_ip", "handshakes_per_ip_per_second", "buffer_bytes"])
    }
}

@Suite struct LimitLogTests {
    /// The counts to log in each second, for a single limit with this number of rejections per second.
    private func logged(_ rejections: [Int]) -> [Int?] {
        let counters = LimitCounters()
        var log = LimitLog()
        return rejections.enumerated().map { second, count in
            for _ in 0..<count { counters.count(.handshakesPerIP) }
            let due = log.due(counters, at: second)
            #expect(due.allSatisfy { $0.limit == .handshakesPerIP } && due.count <= 1)
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
        let counters = LimitCounters()
        var log = LimitLog()
        counters.count(.connectionsPerIP)
        #expect(log.due(counters, at: 0).map(\.limit) == [.connectionsPerIP])
        counters.count(.connectionsPerIP)
        counters.count(.handshakesPerIP)
        #expect(log.due(counters, at: 5).map(\.limit) == [.handshakesPerIP])
        #expect(log.due(counters, at: 10).map(\.limit) == [.connectionsPerIP])
    }

    /// In the end every rejection is in exactly one line.
    @Test(arguments: 0..<50) func missesNoRejection(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let rejections = (0..<100).map { _ in random.chance(percent: 30) ? random.below(20) : 0 }
        let lines = logged(rejections + Array(repeating: 0, count: 10))
        #expect(lines.compactMap { $0 }.reduce(0, +) == rejections.reduce(0, +))
        let seconds = lines.indices.filter { lines[$0] != nil }
        #expect(zip(seconds, seconds.dropFirst()).allSatisfy { $1 - $0 >= LimitLog.intervalSeconds })
    }
}
