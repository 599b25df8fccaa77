import Primitives
import Testing

/// The limits of client events, commands, messages, authorization requests and handshakes.
@Suite struct TokenBucketTests {
    /// The number of events, out of `count`, that the limit permits at `now`, which is in milliseconds.
    private func permitted(_ count: Int, by bucket: inout TokenBucket, perSecond: Int, burst: Int? = nil, now: Int64) -> Int {
        let limit = RateLimit(perSecond: perSecond, burst: burst ?? perSecond)
        return (0..<count).count { _ in bucket.consume(limit, now: now * 1_000_000) }
    }

    @Test func e9BurstIsOneSecondsWorth() {
        var bucket = TokenBucket()
        #expect(permitted(20, by: &bucket, perSecond: 10, now: 5_000) == 10)
        #expect(permitted(1, by: &bucket, perSecond: 10, now: 5_050) == 0, "only half a token was refilled")
        #expect(permitted(2, by: &bucket, perSecond: 10, now: 5_125) == 1)
    }

    @Test func e9RefillStopsAtOneSecondsWorth() {
        var bucket = TokenBucket()
        #expect(permitted(5, by: &bucket, perSecond: 3, now: 0) == 3)
        #expect(permitted(5, by: &bucket, perSecond: 3, now: 60_000) == 3)
    }

    /// In ten seconds, a limit of ten events per second permits the initial burst of ten, and at most 100 more.
    @Test func e9LongRunStaysAtTheRate() {
        var bucket = TokenBucket()
        let sent = (Int64(0)..<10_000).reduce(0) { $0 + permitted(1, by: &bucket, perSecond: 10, now: $1) }
        #expect((108...110).contains(sent))
    }

    @Test func burstMayBeLargerThanTheRate() {
        var bucket = TokenBucket()
        #expect(permitted(50, by: &bucket, perSecond: 3, burst: 30, now: 0) == 30)
        #expect(permitted(50, by: &bucket, perSecond: 3, burst: 30, now: 2_000) == 6)
    }

    @Test func e9ClockSteppingBackRefillsNothing() {
        var bucket = TokenBucket()
        #expect(permitted(1, by: &bucket, perSecond: 1, now: 1_000) == 1)
        #expect(permitted(2, by: &bucket, perSecond: 1, now: 500) == 0)
    }

    @Test func rateZeroIsNoLimit() {
        var bucket = TokenBucket()
        bucket.overdraw(1_000_000, RateLimit(perSecond: 0, burst: 1), now: 0)
        #expect(permitted(1_000, by: &bucket, perSecond: 0, burst: 1, now: 0) == 1_000)
        #expect(bucket.isFull(at: 0))
    }

    @Test func overdrawnTokensAreRefilledFirst() {
        var bucket = TokenBucket()
        bucket.overdraw(25, RateLimit(perSecond: 10, burst: 10), now: 0)
        #expect(permitted(1, by: &bucket, perSecond: 10, now: 1_500) == 0)
        #expect(permitted(2, by: &bucket, perSecond: 10, now: 1_600) == 1)
    }

    @Test func isFullOnceAllTokensAreRefilled() {
        var bucket = TokenBucket()
        #expect(permitted(3, by: &bucket, perSecond: 10, now: 0) == 3)
        #expect(!bucket.isFull(at: 299_999_999))
        #expect(bucket.isFull(at: 300_000_000))
    }

    /// Each connection has some.
    @Test func isSmall() {
        #expect(MemoryLayout<TokenBucket>.size == 8 && MemoryLayout<RateLimit>.size == 8)
    }
}
