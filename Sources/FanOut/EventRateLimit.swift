/// The token bucket that limits a connection's client events (protocol point E9). Its size is the number of events
/// permitted per second, and it refills evenly.
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

    /// Consumes a token for one event. Returns false if the bucket is empty: the event exceeds the limit.
    package mutating func consume(perSecond: Int, now: Int64) -> Bool {
        tokens = min(Double(perSecond), tokens + Double(max(0, now - updated)) * Double(perSecond) / 1000)
        updated = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }
}
