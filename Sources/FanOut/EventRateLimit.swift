/// How many events a client may still send (E9): a second's worth at once, refilled evenly.
package struct EventRateLimit: Equatable, Sendable {
    private var left: Double
    private var updated: Int64

    /// - Parameters:
    ///   - perSecond: events per second, and at once.
    ///   - now: milliseconds.
    package init(perSecond: Int, now: Int64) {
        left = Double(perSecond)
        updated = now
    }

    /// Whether one more may be sent; if so, it is counted.
    package mutating func take(perSecond: Int, now: Int64) -> Bool {
        left = min(Double(perSecond), left + Double(max(0, now - updated)) * Double(perSecond) / 1000)
        updated = now
        guard left >= 1 else { return false }
        left -= 1
        return true
    }
}
