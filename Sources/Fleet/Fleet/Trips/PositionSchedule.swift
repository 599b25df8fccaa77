import Primitives

/// When the writer stores drivers' positions, and removes deleted ones from the write-ahead log too. Times are monotonic
/// milliseconds.
struct PositionSchedule {
    /// The name of the task in the operator's log.
    static let name = "positions"

    /// The most positions of one transaction.
    static let sliceMax = 500

    private var savedAt: Int64 = 0
    private var checkpointAt: Int64 = 0

    mutating func isSaveDue(at time: Int64) -> Bool {
        guard time - savedAt >= Timing.positionSaveInterval else { return false }
        savedAt = time
        return true
    }

    mutating func isCheckpointDue(at time: Int64) -> Bool {
        guard time - checkpointAt >= Timing.truncatingCheckpointInterval else { return false }
        checkpointAt = time
        return true
    }
}
