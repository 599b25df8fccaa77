import Primitives

/// Counts the notifications whose lifetime ends, about once a second, for the metrics. Nothing is written, and the count
/// begins when the process starts: a notification costs no more than its place in an index.
struct ExpiryCount {
    /// The notifications that expired until then are counted, or expired before the process started: milliseconds since
    /// 1970.
    private var countedUntil: Int64
    private var hasFailed = false

    init(from now: Int64) { countedUntil = now }

    /// The clock may be set back by so many milliseconds without a notification being counted twice.
    private static let setBackMax: Int64 = 60_000

    /// Counts the notifications that have expired since the last count. If the clock was set back a little, nothing is
    /// counted until it has caught up; if it was set back by more, counting begins anew.
    /// - Returns: nil if it is too early.
    /// - Throws: the first error only, until a count succeeds: the next call is a second later.
    mutating func next(_ executor: QueryExecutor, now: Int64) throws(DatabaseError) -> NotificationCounts? {
        if now < countedUntil - Self.setBackMax { countedUntil = now }
        guard now >= countedUntil + Timing.expiryCountInterval else { return nil }
        do throws(DatabaseError) {
            let counts = try executor.expired(after: countedUntil, upTo: now)
            (countedUntil, hasFailed) = (now, false)
            return counts
        } catch {
            defer { hasFailed = true }
            guard hasFailed else { throw error }
            return nil
        }
    }
}
