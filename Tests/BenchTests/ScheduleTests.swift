import Testing

@testable import Bench

@Suite struct ScheduleTests {
    @Test func eventsAreDueAtAConstantRate() {
        let schedule = Schedule(start: 1_000, rate: 4, count: 3)
        #expect((0..<3).map { schedule.time(of: $0) } == [1_000, 250_001_000, 500_001_000])
        #expect(schedule.dueCount(at: 999) == 0)
        #expect(schedule.dueCount(at: 1_000) == 1)
        #expect(schedule.dueCount(at: 250_000_999) == 1)
        #expect(schedule.dueCount(at: 250_001_000) == 2)
        #expect(schedule.dueCount(at: 10_000_000_000) == 3)
    }

    @Test(arguments: [0.1, 0.3, 7, 33.3, 999, 100_000])
    func theDueCountAgreesWithTheTimes(rate: Double) {
        let schedule = Schedule(start: 123_456_789, rate: rate, count: 500)
        for event in 0..<500 {
            let time = schedule.time(of: event)
            #expect(schedule.dueCount(at: time) == event + 1)
            #expect(schedule.dueCount(at: time - 1) == event)
        }
    }
}

@Suite struct LatencyHistogramTests {
    @Test func smallDurationsAreExact() {
        var histogram = LatencyHistogram()
        for value in 1...100 { histogram.record(UInt64(value)) }
        #expect(histogram.percentile(0.5) == 50)
        #expect(histogram.percentile(0.99) == 99)
        #expect(histogram.percentile(1) == 100)
        #expect(histogram.percentile(0) == 1)
        #expect((histogram.count, histogram.max) == (100, 100))
    }

    @Test(arguments: [127, 128, 129, 255, 256, 257, 1_000_003, 5_000_000_000, UInt64.max / 2, UInt64.max])
    func aPercentileIsAtMostOnePart128TooLarge(value: UInt64) throws {
        var histogram = LatencyHistogram()
        histogram.record(value)
        histogram.record(.max)
        let found = try #require(histogram.percentile(0.5))
        #expect(found >= value && found - value <= value / 128)
    }

    @Test func percentilesOfManyDurationsAreNearTheTrueOnes() throws {
        var histogram = LatencyHistogram()
        for value in 1...100_000 { histogram.record(UInt64(value) * 1_000) }
        for part in [0.5, 0.9, 0.99, 0.999] {
            let found = Double(try #require(histogram.percentile(part)))
            #expect(found / (part * 1e8) > 0.999 && found / (part * 1e8) < 1.009)
        }
    }

    @Test func withoutDurationsThereIsNoPercentile() {
        #expect(LatencyHistogram().percentile(0.5) == nil)
    }
}
