import Primitives

/// Puts the commits of all nodes into one order: that of their positions in the cluster's log.
///
/// The bus is faster than the log, and keeps the order of each sender only. A commit that comes before its predecessor is
/// held back; if that does not come soon, it is read from the log.
package struct ClusterCommitOrder: Sendable {
    /// The most commits that are held back. Those beyond are read from the log.
    static let heldMax = 1_000

    /// The position of the last commit that was applied.
    package private(set) var applied: Int64
    /// By position.
    private var held: [Int64: [UInt8]] = [:]
    /// The position of the last commit that is known to exist.
    private var known: Int64
    /// Since when a commit is missing, in milliseconds of the monotonic clock.
    private var missingSince: Int64?

    /// - Parameter applied: the position at which this node has read everything.
    package init(applied: Int64 = 0) {
        self.applied = applied
        known = applied
    }

    /// This node has read everything up to a position.
    package mutating func start(at position: Int64) { self = ClusterCommitOrder(applied: position) }

    /// A commit has come.
    /// - Parameter record: empty if it is too large for the bus.
    /// - Returns: the records to apply now, in order.
    package mutating func receive(_ record: [UInt8], position: Int64, at now: Int64) -> [[UInt8]] {
        guard position > applied else { return [] }
        known = max(known, position)
        if !record.isEmpty, held.count < Self.heldMax { held[position] = record }
        return advance(at: now)
    }

    /// A commit of this node follows. The writer has read all that precede it.
    package mutating func apply(own position: Int64, at now: Int64) -> [[UInt8]] {
        applied = max(applied, position)
        known = max(known, applied)
        return advance(at: now)
    }

    /// Whether the log is to be read, because a commit has been missing for too long. True at most once per
    /// ``Timing/commitOrderPatience``.
    package mutating func needsLog(at now: Int64) -> Bool {
        guard let since = missingSince, now - since >= Timing.commitOrderPatience else { return false }
        missingSince = now
        return true
    }

    private mutating func advance(at now: Int64) -> [[UInt8]] {
        var records: [[UInt8]] = []
        while let record = held.removeValue(forKey: applied + 1) {
            applied += 1
            records.append(record)
        }
        if !held.isEmpty { held = held.filter { $0.key > applied } }
        missingSince = known > applied ? missingSince ?? now : nil
        return records
    }
}
