/// The token bucket of a connection's client events (E9): it holds one second's worth and refills evenly.
package struct EventRateLimit: Equatable, Sendable {
    private var tokens: Double
    private var updated: Int64

    /// - Parameters:
    ///   - perSecond: the refill rate in events per second; also the bucket's size.
    ///   - now: milliseconds of a monotonic clock.
    package init(perSecond: Int, now: Int64) {
        tokens = Double(perSecond)
        updated = now
    }

    /// Consumes a token. Returns false if there is none: the event is over the limit.
    package mutating func consume(perSecond: Int, now: Int64) -> Bool {
        tokens = min(Double(perSecond), tokens + Double(max(0, now - updated)) * Double(perSecond) / 1000)
        updated = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }
}
