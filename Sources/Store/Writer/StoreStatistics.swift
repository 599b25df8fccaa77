/// What the store's writer has done.
package struct StoreStatistics: Equatable, Sendable {
    /// Upper bounds of ``commitBuckets``, in seconds; beyond the last there is one more.
    package static let commitBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

    package internal(set) var commits = 0
    /// Errands in those commits: divided by them, the size of a batch.
    package internal(set) var errands = 0
    /// Reports of push lanes in those commits.
    package internal(set) var reports = 0
    /// Pushes that were handed to lanes.
    package internal(set) var supplied = 0
    /// How many commits took no longer than each bound, and no less than the one before: not cumulative.
    package internal(set) var commitBuckets = [Int](repeating: 0, count: commitBounds.count + 1)
    package internal(set) var commitNanoseconds: UInt64 = 0
    /// Errands answered 503: the disk was full, for instance.
    package internal(set) var unavailable = 0
    /// Errands that failed alone.
    package internal(set) var failed = 0
    /// Rows that retention removed, and pushes that it let expire because no lane serves them.
    package internal(set) var deleted = 0
    /// Telemetry that was answered and not kept: too much of it by one person about notifications that nobody knows.
    package internal(set) var orphansRefused = 0
    /// Errands and reports waiting.
    package internal(set) var queueDepth = 0

    /// - Parameter nanoseconds: from the beginning of the transaction to its end on the disk.
    mutating func countCommit(errands: Int, reports: Int, nanoseconds: UInt64) {
        commits += 1
        self.errands += errands
        self.reports += reports
        commitNanoseconds += nanoseconds
        let seconds = Double(nanoseconds) / 1e9
        commitBuckets[Self.commitBounds.firstIndex { seconds <= $0 } ?? Self.commitBounds.count] += 1
    }
}
