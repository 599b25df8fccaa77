/// When what has failed is tried again: after 1, 2, 4 … 60 s, with jitter, and never sooner than the provider asks.
package enum RetrySchedule {
    /// Milliseconds until the next try.
    ///
    /// Up to half as long again is added by chance, 30 s at most: what has failed together must not come back together.
    /// - Parameters:
    ///   - attempts: how often it had been tried before this failure (0…).
    ///   - asked: milliseconds for which the provider wants to be left alone; nil: it did not say.
    package static func delay(
        afterAttempts attempts: Int, asked: Int64? = nil, using dice: inout some RandomNumberGenerator
    ) -> Int64 {
        let backoff = min(Int64(1) << min(max(attempts, 0), 6), secondsMax) * 1000
        let least = max(backoff, asked ?? 0)
        return least + Int64.random(in: 0...min(least / 2, jitterMillisecondsMax), using: &dice)
    }

    private static let secondsMax: Int64 = 60
    private static let jitterMillisecondsMax: Int64 = 30_000
}
