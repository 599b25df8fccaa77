import Primitives

/// When the writer stores drivers' positions, and removes deleted ones from the write-ahead log too. Times are monotonic
/// milliseconds.
struct PositionSchedule {
    /// The name of the task in the operator's log.
    static let name = "positions"

    /// The most positions of one transaction.
    static let sliceMax = 500
    /// Jobs end all the time, and truncating the log for each would be too much work.
    private static let checkpointInterval: Int64 = 600_000

    private var savedAt: Int64 = 0
    private var checkpointAt: Int64 = 0

    mutating func isSaveDue(at time: Int64) -> Bool {
        guard time - savedAt >= Timing.positionSaveInterval else { return false }
        savedAt = time
        return true
    }

    mutating func isCheckpointDue(at time: Int64) -> Bool {
        guard time - checkpointAt >= Self.checkpointInterval else { return false }
        checkpointAt = time
        return true
    }
}
