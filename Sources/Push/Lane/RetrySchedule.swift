/// Exponential back-off with jitter: 1, 2, 4 … 60 s, and never less than the provider's `retry-after`.
package enum RetrySchedule {
    /// Milliseconds until the next attempt. Up to half of it, at most 30 s, is added at random, so that jobs which
    /// failed together do not come back together.
    /// - Parameters:
    ///   - attempts: attempts before this failure (0…).
    ///   - retryAfter: milliseconds; nil if the provider gave none.
    package static func delay(
        afterAttempts attempts: Int, retryAfter: Int64? = nil, using rng: inout some RandomNumberGenerator
    ) -> Int64 {
        let backoff = min(Int64(1) << min(max(attempts, 0), 6), secondsMax) * 1000
        let least = max(backoff, retryAfter ?? 0)
        return least + Int64.random(in: 0...min(least / 2, jitterMillisecondsMax), using: &rng)
    }

    private static let secondsMax: Int64 = 60
    private static let jitterMillisecondsMax: Int64 = 30_000
}
