import FanOut
import Testing

/// The limits of a connection's client events and commands.
@Suite struct TokenBucketTests {
    /// The number of events, out of `count`, that the limit permits at `now`, which is in milliseconds.
    private func permitted(_ count: Int, of limit: inout TokenBucket, perSecond: Int, now: Int64) -> Int {
        (0..<count).count { _ in limit.consume(perSecond: perSecond, size: perSecond, now: now) }
    }

    @Test func e9BurstIsOneSecondsWorth() {
        var limit = TokenBucket(size: 10, now: 5_000)
        #expect(permitted(20, of: &limit, perSecond: 10, now: 5_000) == 10)
        #expect(permitted(1, of: &limit, perSecond: 10, now: 5_050) == 0, "only half a token was refilled")
        #expect(permitted(2, of: &limit, perSecond: 10, now: 5_125) == 1)
    }

    @Test func e9RefillStopsAtOneSecondsWorth() {
        var limit = TokenBucket(size: 3, now: 0)
        #expect(permitted(5, of: &limit, perSecond: 3, now: 0) == 3)
        #expect(permitted(5, of: &limit, perSecond: 3, now: 60_000) == 3)
    }

    /// In ten seconds, a limit of ten events per second permits the initial burst of ten, and at most 100 more.
    @Test func e9LongRunStaysAtTheRate() {
        var limit = TokenBucket(size: 10, now: 0)
        let sent = (Int64(0)..<10_000).reduce(0) { $0 + permitted(1, of: &limit, perSecond: 10, now: $1) }
        #expect((108...110).contains(sent))
    }

    @Test func burstMayBeLargerThanTheRate() {
        var limit = TokenBucket(size: 30, now: 0)
        let permitted = (0..<50).count { _ in limit.consume(perSecond: 3, size: 30, now: 0) }
        #expect(permitted == 30)
        let later = (0..<50).count { _ in limit.consume(perSecond: 3, size: 30, now: 2_000) }
        #expect(later == 6)
    }

    @Test func e9ClockSteppingBackRefillsNothing() {
        var limit = TokenBucket(size: 1, now: 1_000)
        #expect(permitted(1, of: &limit, perSecond: 1, now: 1_000) == 1)
        #expect(permitted(2, of: &limit, perSecond: 1, now: 500) == 0)
    }
}
