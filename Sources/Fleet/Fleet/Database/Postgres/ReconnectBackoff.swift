import Primitives

/// When to connect again to a server that is away: at once, then after pauses that double up to ten seconds. Each pause is
/// shortened by a random part, so that many gateways do not come back at the same moment.
struct ReconnectBackoff {
    private var pause = Timing.postgresPause
    private var notBefore: Int64?

    /// - Parameter now: milliseconds on the monotonic clock.
    func isDue(at now: Int64) -> Bool { notBefore.map { now >= $0 } ?? true }

    /// Records a failed attempt.
    mutating func failed(at now: Int64, random: (ClosedRange<Int64>) -> Int64 = { .random(in: $0) }) {
        notBefore = now + random(pause / 2...pause)
        pause = min(pause * 2, Timing.postgresPauseMax)
    }
}
