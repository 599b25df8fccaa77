import Push
import Testing

@Suite struct RetryScheduleTests {
    @Test(
        arguments: [
            (0, 1_000), (1, 2_000), (2, 4_000), (3, 8_000), (4, 16_000), (5, 32_000), (6, 60_000), (7, 60_000),
            (1_000_000, 60_000),
            (.max, 60_000), (-1, 1_000),
        ] as [(Int, Int64)])
    func delayDoublesUpToAMinute(_ attempts: Int, _ least: Int64) {
        var (low, high) = (Fixed(value: 1 << 40), Fixed(value: .max))
        #expect(RetrySchedule.delay(afterAttempts: attempts, using: &low) == least)
        #expect(RetrySchedule.delay(afterAttempts: attempts, using: &high) == least + least / 2)
    }

    /// The delay is at least `retryAfter`, plus jitter. A shorter `retryAfter` does not shorten the schedule.
    @Test(
        arguments: [
            (0, 60_000, 60_000, 90_000), (0, 0, 1_000, 1_500), (6, 5_000, 60_000, 90_000), (0, 3_600_000, 3_600_000, 3_630_000),
            (0, -1, 1_000, 1_500),
        ] as [(Int, Int64, Int64, Int64)])
    func delayIsNotShorterThanRetryAfter(_ attempts: Int, _ retryAfter: Int64, _ least: Int64, _ most: Int64) {
        var (low, high) = (Fixed(value: 1 << 40), Fixed(value: .max))
        #expect(RetrySchedule.delay(afterAttempts: attempts, retryAfter: retryAfter, using: &low) == least)
        #expect(RetrySchedule.delay(afterAttempts: attempts, retryAfter: retryAfter, using: &high) == most)
    }

    /// A generator that always gives the same extreme value. The lower extreme is not 0: to avoid bias, the standard
    /// library would reject 0 and draw again forever.
    private struct Fixed: RandomNumberGenerator {
        let value: UInt64

        mutating func next() -> UInt64 { value }
    }
}
