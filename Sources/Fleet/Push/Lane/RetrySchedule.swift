import Primitives

/// Exponential back-off with jitter: 1, 2, 4 … 60 s, and never less than the provider's `retry-after`.
package enum RetrySchedule {
    /// Milliseconds until the next attempt: the back-off or `retryAfter`, whichever is longer, plus up to half of that,
    /// at most 30 s, at random. The random part makes jobs that failed at the same time retry at different times.
    /// - Parameters:
    ///   - attempts: the number of attempts before the one that failed: 0 if the first failed.
    ///   - retryAfter: milliseconds; nil if the provider gave none.
    package static func delay(
        afterAttempts attempts: Int, retryAfter: Int64? = nil, using rng: inout some RandomNumberGenerator
    ) -> Int64 {
        let backoff = min(Timing.pushBackoff << min(Int64(max(attempts, 0)), 6), Timing.pushBackoffMax)
        let least = max(backoff, retryAfter ?? 0)
        return least + Int64.random(in: 0...min(least / 2, Timing.pushJitterMax), using: &rng)
    }
}
