/// Counts of the store's writer since the start.
package struct StoreStatistics: Equatable, Sendable {
    /// The inclusive upper bounds of ``commitBuckets`` in seconds. One more bucket counts longer commits.
    package static let commitBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

    /// Until when this process sends pushes, in monotonic milliseconds: without a cluster for ever, in a cluster while the
    /// node leads.
    package internal(set) var leadsUntil = Int64.max
    /// Successful transactions with commands or reports.
    package internal(set) var commits = 0
    /// Commands in these commits.
    package internal(set) var commands = 0
    /// Reports of push lanes in these commits.
    package internal(set) var reports = 0
    /// Push jobs leased to lanes.
    package internal(set) var leased = 0
    /// Commits per bucket; not cumulative.
    package internal(set) var commitBuckets = [Int](repeating: 0, count: commitBounds.count + 1)
    /// The sum of the durations of these commits, each from the start of its transaction to the end of its commit, in
    /// nanoseconds.
    package internal(set) var commitNanoseconds: UInt64 = 0
    /// The rows of the transactions.
    package internal(set) var rows = RowCounts()
    /// Commands that got 503 because the store was not writable (disk full, file locked).
    package internal(set) var unavailable = 0
    /// Whether the store could not be written when it was last tried; it is tried again once a second.
    package internal(set) var isUnavailable = false
    /// Why the store is written no more; nil: it is.
    package internal(set) var failure: StoreFailure?
    /// Commands and reports that caused an error although each had a transaction of its own. Each is a bug.
    package internal(set) var failed = 0
    /// Rows that retention deleted, and push jobs of lanes that are not enabled or unknown, which retention ended.
    package internal(set) var deleted = 0
    /// By how much the oldest rows of the logs are older than `store.retention_days`, in milliseconds.
    package internal(set) var retentionLag: Int64 = 0
    /// Registered devices now, per lane.
    package internal(set) var devices: [PushLane: Int] = [:]
    /// Commands and reports that wait in the queue.
    package internal(set) var queueDepth = 0

    /// Counts a commit.
    /// - Parameter nanoseconds: the duration of its transaction.
    mutating func count(_ commit: Commit, nanoseconds: UInt64) {
        commits += 1
        commands += commit.replies.count
        reports += commit.leases.count
        leased += commit.leases.reduce(0) { $0 + $1.jobs.count }
        commitNanoseconds += nanoseconds
        let seconds = Double(nanoseconds) / 1e9
        commitBuckets[Self.commitBounds.firstIndex { seconds <= $0 } ?? Self.commitBounds.count] += 1
    }
}
