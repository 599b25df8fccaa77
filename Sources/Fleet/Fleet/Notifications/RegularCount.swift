import Primitives
import Threads

/// Repeats a count twice a second, so that a metric is at most a second old. The reader's thread counts, because the
/// writer's must not wait: the time of a count is proportional to what it counts.
struct RegularCount {
    /// If a count takes longer than an eighth of ``Timing/countInterval``, the counts become rarer, so that queries always
    /// have most of the thread's time.
    private static let pausesPerCount: UInt64 = 8

    private var nextAt: UInt64 = 0
    private var hasFailed = false

    /// Counts, unless it is too early.
    /// - Parameter now: nanoseconds on the monotonic clock.
    /// - Returns: nil if it is too early.
    /// - Throws: the first error only, until a count succeeds.
    mutating func next<Result>(
        now: () -> UInt64 = Clock.monotonicNanoseconds, counting count: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result? {
        let start = now()
        guard start >= nextAt else { return nil }
        nextAt = start + UInt64(Timing.countInterval) * 1_000_000
        do throws(DatabaseError) {
            let result = try count()
            let end = now()
            nextAt = end + max(UInt64(Timing.countInterval) * 1_000_000, (end - start) * Self.pausesPerCount)
            hasFailed = false
            return result
        } catch {
            defer { hasFailed = true }
            guard hasFailed else { throw error }
            return nil
        }
    }
}
