import Testing

@testable import Observability

@Suite struct RecentRequestsTests {
    private typealias Summary = RecentRequests.Summary

    private func summary(of requests: RecentRequests..., seconds: Int = 60, at second: Int = 1_000) -> Summary {
        RecentRequests.summary(of: requests, seconds: seconds, at: second)
    }

    @Test func withoutRequestsThereAreNoPercentiles() {
        #expect(
            summary(of: RecentRequests())
                == Summary(requests: 0, errors: 0, p50Milliseconds: nil, p99Milliseconds: nil))
    }

    @Test func percentilesAreAtMostAnEighthTooHigh() throws {
        for milliseconds in [1, 2, 7, 50, 999, 1_500, 30_000] {
            var requests = RecentRequests()
            requests.add(microseconds: UInt64(milliseconds) * 1_000, isError: false, at: 1_000)
            let median = try #require(summary(of: requests).p50Milliseconds)
            #expect(median >= milliseconds && median <= milliseconds * 9 / 8 + 1, "\(milliseconds) \(median)")
        }
    }

    @Test func theSlowestHundredthDecidesTheHigherPercentile() {
        var requests = RecentRequests()
        for number in 0..<200 {
            requests.add(microseconds: number < 197 ? 1_000 : 4_000_000, isError: number < 3, at: 1_000)
        }
        let found = summary(of: requests)
        #expect(found.requests == 200 && found.errors == 3 && found.p50Milliseconds ?? 9 <= 2)
        #expect(found.p99Milliseconds ?? 0 >= 4_000)
    }

    @Test func longTimesAndNoneAreCounted() {
        var requests = RecentRequests()
        requests.add(microseconds: 0, isError: false, at: 1_000)
        requests.add(microseconds: .max, isError: false, at: 1_000)
        #expect(summary(of: requests).requests == 2)
    }

    @Test func aPeriodEnds() {
        var requests = RecentRequests()
        requests.add(microseconds: 1, isError: true, at: 1_000)
        #expect(summary(of: requests, at: 1_054).requests == 1)
        #expect(summary(of: requests, at: 1_060).requests == 0)
        #expect(summary(of: requests, seconds: 900, at: 1_894).errors == 1)
        #expect(summary(of: requests, seconds: 900, at: 1_900).requests == 0)
        // The slice is used again 15 minutes later.
        requests.add(microseconds: 1, isError: false, at: 1_900)
        #expect(summary(of: requests, seconds: 900, at: 1_900) == summary(of: requests, seconds: 60, at: 1_900))
        #expect(summary(of: requests, at: 1_900).errors == 0)
    }

    @Test func loopsAreAdded() {
        var (one, other) = (RecentRequests(), RecentRequests())
        one.add(microseconds: 1_000, isError: false, at: 1_000)
        other.add(microseconds: 8_000_000, isError: true, at: 1_001)
        let found = summary(of: one, other, at: 1_002)
        #expect(found.requests == 2 && found.errors == 1 && found.p99Milliseconds ?? 0 >= 8_000)
    }

    @Test func requestsWithoutATimeCountAndHaveNoPercentile() {
        var requests = RecentRequests()
        requests.add(microseconds: nil, isError: true, at: 1_000)
        #expect(
            summary(of: requests) == Summary(requests: 1, errors: 1, p50Milliseconds: nil, p99Milliseconds: nil))
        requests.add(microseconds: 1_000, isError: false, at: 1_900)
        #expect(summary(of: requests, at: 1_900).requests == 1, "the slice is used again 15 minutes later")
    }
}
