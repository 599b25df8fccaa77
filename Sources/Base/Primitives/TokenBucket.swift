/// A rate, and how many may come at once.
package struct RateLimit: Equatable, Sendable {
    fileprivate let perSecond: Int32
    fileprivate let burst: Int32

    /// - Parameters:
    ///   - perSecond: the rate; 0: no limit.
    ///   - burst: how many may come at once, at least 1.
    package init(perSecond: Int, burst: Int) {
        self.perSecond = Int32(clamping: perSecond)
        self.burst = Int32(clamping: burst)
    }

    /// The time in nanoseconds in which one token is refilled.
    fileprivate var interval: Int64 { 1_000_000_000 / Int64(perSecond) }
    /// The time in nanoseconds in which an empty bucket is refilled.
    fileprivate var capacity: Int64 { interval * Int64(burst) }
}

/// A token bucket, which limits a rate. It refills evenly.
///
/// It is one number, the time at which it will be full, instead of a number of tokens and the time of the last refill
/// (the generic cell rate algorithm). Times are nanoseconds of a monotonic clock.
package struct TokenBucket: Equatable, Sendable {
    private var fullAt = Int64.min

    /// A full bucket.
    package init() {}

    /// Whether the bucket is full, as a new one is.
    package func isFull(at now: Int64) -> Bool { fullAt <= now }

    /// Whether the bucket has a token.
    package func hasToken(_ limit: RateLimit, now: Int64) -> Bool {
        limit.perSecond == 0 || max(fullAt, now) + limit.interval - now <= limit.capacity
    }

    /// Consumes a token. Returns false if the bucket is empty: the limit is exceeded.
    package mutating func consume(_ limit: RateLimit, now: Int64) -> Bool {
        guard hasToken(limit, now: now) else { return false }
        overdraw(1, limit, now: now)
        return true
    }

    /// Consumes tokens that the bucket may not have; it then has to refill them before it has a token again.
    package mutating func overdraw(_ count: Int, _ limit: RateLimit, now: Int64) {
        guard limit.perSecond > 0 else { return }
        fullAt = max(fullAt, now) + limit.interval * Int64(count)
    }
}
