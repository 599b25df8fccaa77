/// Decides when pages of the write-ahead log are copied into the database file, and which thread copies them.
///
/// The ``Checkpointer`` copies after every ``stepPages`` that were committed; no commit waits for it. The log can begin
/// anew only when all of its pages are copied at some moment, which happens by itself whenever the writer pauses. If
/// the writer never pauses, the log grows to ``restartPages``; then the writer copies the rest itself between two
/// transactions. The rest is what was committed since the last step began, so that takes little time.
struct CheckpointSchedule {
    /// 4 MiB: few enough that a step is short, enough that its syncs to the disk are rare.
    static let stepPages = 1_000
    /// 32 MiB.
    static let restartPages = 8_000
    /// 64 MiB: the log grows so long only if another program keeps a transaction open, or if the disk is too slow.
    static let alarmPages = 16_000

    enum Action: Equatable {
        case none
        /// The checkpointer copies what it can; then call ``copied(all:)``.
        case copy
        /// The writer copies the rest.
        case copyRest
    }

    /// The pages in the log after the last commit.
    private var pages = 0
    /// The pages committed since the last step began.
    private var written = 0
    private var isCopying = false
    /// Whether the last step copied all pages that were in the log when it began, and the writer has not copied since.
    private var isCaughtUp = false
    private var isAlarmed = false

    /// Records the length of the log after a transaction.
    mutating func committed(pages now: Int) -> Action {
        // Fewer pages than before: the log has begun anew.
        written += now >= pages ? now - pages : now
        pages = now
        if pages < Self.restartPages { isAlarmed = false }
        guard !isCopying else { return .none }
        if pages >= Self.restartPages, isCaughtUp {
            isCaughtUp = false
            return .copyRest
        }
        guard written >= Self.stepPages else { return .none }
        written = 0
        isCopying = true
        return .copy
    }

    /// Records the end of a step.
    /// - Parameter all: whether it copied all pages that were in the log when it began.
    mutating func copied(all: Bool) {
        isCopying = false
        isCaughtUp = all
    }

    /// Whether to report that the log has grown: once until it begins anew.
    mutating func isAlarmDue() -> Bool {
        guard pages >= Self.alarmPages, !isAlarmed else { return false }
        isAlarmed = true
        return true
    }
}
