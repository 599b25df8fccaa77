import FleetRules
import Threads

/// The unsent jobs of a push lane.
package struct PushQueue: Equatable, Sendable {
    /// The number of queued and waiting jobs.
    package let depth: Int
    /// When the oldest of them was queued, in milliseconds since 1970; nil if there is none.
    package let oldestAt: Int64?

    package init(depth: Int, oldestAt: Int64?) {
        self.depth = depth
        self.oldestAt = oldestAt
    }
}

/// Counts the unsent jobs of all lanes twice a second, so that metrics are at most a second old. It counts them on the
/// reader's thread, because the writer's must not wait: the time is proportional to the number of jobs.
struct PushQueueCount {
    /// The shortest time from the end of a count to the next, in milliseconds.
    static let interval: Int64 = 500
    /// With so many jobs that a count takes longer than an eighth of ``interval``, the counts become rarer, so that
    /// queries always have most of the thread's time.
    private static let pausesPerCount: UInt64 = 8

    private var nextAt: UInt64 = 0
    private var hasFailed = false

    /// Counts the jobs.
    /// - Parameter now: nanoseconds on the monotonic clock.
    /// - Returns: nil if it is too early.
    /// - Throws: the first error only, until a count succeeds.
    mutating func next(
        _ executor: QueryExecutor, now: () -> UInt64 = Clock.monotonicNanoseconds
    ) throws(DatabaseError) -> [PushLane: PushQueue]? {
        let start = now()
        guard start >= nextAt else { return nil }
        nextAt = start + UInt64(Self.interval) * 1_000_000
        do throws(DatabaseError) {
            let queues = try executor.pushQueues()
            let end = now()
            nextAt = end + max(UInt64(Self.interval) * 1_000_000, (end - start) * Self.pausesPerCount)
            hasFailed = false
            return queues
        } catch {
            defer { hasFailed = true }
            guard hasFailed else { throw error }
            return nil
        }
    }
}
