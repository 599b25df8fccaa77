import Primitives
import Threads

/// Deletes old rows, one slice at a time, so that no command waits long. A round handles each kind of row in as many
/// slices as it needs; the kinds take turns, so that one of which there is always more does not keep the others waiting. After
/// a round that deleted nothing, there is a pause.
///
/// The policy: a slice takes as many rows as the last ones of its kind did in two milliseconds, so that it gets smaller
/// where each row costs reads of the disk. While requests wait, a slice runs once per eight of their transactions; otherwise
/// one runs as soon as none has come for two milliseconds. If rows are an hour older than they should be (``lag``), a slice
/// runs once per two transactions; if a day, after each: then a dispatcher waits for one slice more, and the disk does not
/// fill.
struct RetentionSchedule {
    /// The task's name in ``StoreEvent/backgroundTaskFailed(_:kind:)``.
    static let name = "retention"

    /// The most rows per slice.
    private static let rowsMax = 500

    /// The age in milliseconds at which rows are deleted (`store.retention_days`).
    private let lifetime: Int64
    /// The kinds of rows that are left in the current round, in their order.
    private var kinds: ArraySlice<CommandExecutor.RetentionKind> = []
    /// The end of the pause in milliseconds since 1970.
    private var pausedUntil = Int64.min
    /// Whether the current round has deleted nothing and had no failure.
    private var isIdle = true

    /// The longest time of a slice in milliseconds, as the last ones of a kind took; nil: slices have ``rowsMax`` rows.
    private let sliceMilliseconds: Int64?
    /// How many rows a slice of each kind takes.
    private var sizes: [CommandExecutor.RetentionKind: TransactionSize] = [:]
    /// The rows of the first slice of a kind.
    private static let firstRows = 25
    static let sliceMillisecondsMax: Int64 = 2

    /// By how much the oldest rows of the logs are older than they should be, in milliseconds.
    private(set) var lag: Int64 = 0
    private var measuredAt: Int64?

    /// Transactions with requests after which a slice runs although requests wait.
    var batchesBetweenSlices: Int { lag < Self.hour ? Self.batchesMax : lag < 24 * Self.hour ? Self.batchesMax / 4 : 1 }
    static let batchesMax = 8
    private static let hour: Int64 = 3_600_000

    init(days: Int, sliceMilliseconds: Int64? = nil) {
        lifetime = Int64(days) * 86_400_000
        self.sliceMilliseconds = sliceMilliseconds
    }

    /// Whether a slice may run. A clock that was set back must not prolong the pause.
    func isDue(_ now: Int64) -> Bool { now >= pausedUntil || pausedUntil - now > Timing.retentionPause }

    /// Deletes some rows of one kind.
    /// - Parameters:
    ///   - now: the trusted time (``TrustedClock``) in milliseconds since 1970.
    ///   - isClockTrusted: if false, nothing is decided by age.
    /// - Returns: the number of deleted rows, and the devices among them.
    mutating func runSlice(
        _ executor: CommandExecutor, _ now: Int64, isClockTrusted: Bool = true
    ) throws(DatabaseError) -> (deleted: Int, removed: [RemovedDevice]) {
        if kinds.isEmpty {
            kinds = CommandExecutor.RetentionKind.allCases[...]
            isIdle = true
        }
        if !isClockTrusted { kinds.removeAll(where: \.isDecidedByAge) }
        guard let kind = kinds.popFirst() else { return (0, []) }
        let count: Int
        var size = sizes[kind] ?? TransactionSize(most: Self.rowsMax, first: Self.firstRows, milliseconds: sliceMilliseconds)
        let limit = size.value
        let start = Clock.monotonicMilliseconds()
        var removed: [RemovedDevice] = []
        do throws(DatabaseError) {
            let lifetime = lifetime
            count = try executor.transaction(declaring: kind.rows(limit: limit)) { () throws(DatabaseError) in
                try executor.deleteExpired(kind, now: now, lifetime: lifetime, limit: limit, &removed)
            }
        } catch {
            // Continues with the other kinds. The next round tries this kind again.
            isIdle = false
            pausedUntil = now + Timing.retentionPauseAfterFailure
            throw error
        }
        let end = Clock.monotonicMilliseconds()
        size.record(count, took: end - start)
        sizes[kind] = size
        if isClockTrusted, measuredAt.map({ end - $0 >= Timing.retentionMeasureInterval }) ?? true {
            measuredAt = end
            lag = try executor.retentionLag(now: now, lifetime: lifetime)
        }
        if count > 0 { isIdle = false }
        if count >= limit { kinds.append(kind) }
        if kinds.isEmpty, isIdle { pausedUntil = now + Timing.retentionPause }
        return (count, removed)
    }
}
