import FleetRules

/// Deletes old rows, one slice at a time, so that no command waits long. A round handles each kind of row once, in as
/// many slices as it needs. After a round that deleted nothing, there is a pause.
struct RetentionSchedule {
    /// The task's name in ``StoreEvent/backgroundTaskFailed(_:kind:)``.
    static let name = "retention"

    /// The most rows per slice.
    private static let rowsMax = 500
    /// Milliseconds until the next round, after a round that deleted nothing.
    private static let pause: Int64 = 60_000
    /// Milliseconds until the next slice, after a slice that failed.
    private static let pauseAfterFailure: Int64 = 5_000

    /// The age in milliseconds at which rows are deleted (`store.retention_days`).
    private let lifetime: Int64
    /// The kinds of rows that are left in the current round.
    private var kinds: ArraySlice<CommandExecutor.RetentionKind> = []
    /// The end of the pause in milliseconds since 1970.
    private var pausedUntil = Int64.min
    /// Whether the current round has deleted nothing and had no failure.
    private var isIdle = true

    init(days: Int) { lifetime = Int64(days) * 86_400_000 }

    /// Whether a slice may run. A clock that was set back must not prolong the pause.
    func isDue(_ now: Int64) -> Bool { now >= pausedUntil || pausedUntil - now > Self.pause }

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
        guard let kind = kinds.first else { return (0, []) }
        let count: Int
        var removed: [RemovedDevice] = []
        do throws(DatabaseError) {
            let lifetime = lifetime
            count = try executor.transaction { () throws(DatabaseError) in
                try executor.deleteExpired(kind, now: now, lifetime: lifetime, limit: Self.rowsMax, &removed)
            }
        } catch {
            // Continues with the other kinds. The next round tries this kind again.
            kinds.removeFirst()
            isIdle = false
            pausedUntil = now + Self.pauseAfterFailure
            throw error
        }
        if count > 0 { isIdle = false }
        if count < Self.rowsMax { kinds.removeFirst() }
        if kinds.isEmpty, isIdle { pausedUntil = now + Self.pause }
        return (count, removed)
    }
}
