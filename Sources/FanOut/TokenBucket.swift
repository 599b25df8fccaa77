/// A token bucket, which limits the rate of a connection's client events (protocol point E9) or commands. It refills
/// evenly.
package struct TokenBucket: Equatable, Sendable {
    private var tokens: Double
    private var updated: Int64

    /// A full bucket.
    /// - Parameters:
    ///   - size: how many may come at once (at least 1).
    ///   - now: milliseconds of a monotonic clock.
    package init(size: Int, now: Int64) {
        tokens = Double(size)
        updated = now
    }

    /// Consumes a token. Returns false if the bucket is empty: the limit is exceeded.
    /// - Parameter perSecond: the refill rate in tokens per second.
    package mutating func consume(perSecond: Int, size: Int, now: Int64) -> Bool {
        tokens = min(Double(size), tokens + Double(max(0, now - updated)) * Double(perSecond) / 1000)
        updated = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }
}
