import Access
import Primitives

/// Finds what time makes due, once a second: batches whose windows have ended, drivers who were away for so long that they go
/// offline, and open orders and routes that nobody ends (``IdleJobs``). The writer executes it as commands of the gateway.
struct DueCommands {
    /// The task's name in ``StoreEvent/backgroundTaskFailed(_:kind:)``.
    static let name = "due_commands"

    /// The most batches, and the most drivers, of one look.
    private static let (batchesMax, driversMax) = (50, 500)

    /// The most rows that the commands of one look write, by what they declare: they are executed in one transaction. Batches
    /// take at most half of them, so that drivers do not wait for batches that cannot be opened.
    private let rowsMax: Int
    /// Whether the gateway keeps drivers' accounts: otherwise there are no batches, and nobody goes offline.
    private let keepsAccounts: Bool
    private var idleJobs: IdleJobs
    /// When to look next, in monotonic milliseconds.
    private var lookAt: Int64 = 0
    /// When the next round through the drivers who are online begins, in monotonic milliseconds. A driver who was connected is
    /// away from the last round on that saw the connection.
    private var roundAt: Int64 = 0
    /// The last account of the round; nil between rounds.
    private var roundAfter: String?

    init(keepsAccounts: Bool, openDays: Int, rowsMax: Int = RequestPriority.dispatch.rowsMax) {
        self.keepsAccounts = keepsAccounts
        self.rowsMax = rowsMax
        idleJobs = IdleJobs(days: openDays)
    }

    func isDue(at monotonic: Int64) -> Bool { monotonic >= lookAt }

    /// The milliseconds until the next look.
    func wait(at monotonic: Int64) -> Int64 { max(0, lookAt - monotonic) }

    /// Looks again in a second, although more may be due.
    mutating func postpone(at monotonic: Int64) { lookAt = monotonic + Timing.dueCommandsInterval }

    /// In a cluster, the node that leads does what is due; the others only store whom they have seen.
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - monotonic: milliseconds.
    ///   - isClockTrusted: if false, no order or route ends because of its age.
    mutating func next(
        _ executor: CommandExecutor, now: Int64, monotonic: Int64, isClockTrusted: Bool = true
    ) throws(DatabaseError) -> [IssuedCommand] {
        lookAt = monotonic + Timing.dueCommandsInterval
        var due: [IssuedCommand] = []
        if keepsAccounts {
            due = try openBatches(executor, now, monotonic)
            if monotonic >= roundAt { due += try endAbsences(executor, now, monotonic, rows: rowsMax - due.rows) }
        }
        // If there is no room for them, the next look finds them.
        if executor.isLeader, isClockTrusted, due.isEmpty || due.rows + 2 * IdleJobs.rowsMax <= rowsMax {
            due += try idleJobs.next(executor, now: now - executor.clockLead, monotonic: monotonic)
        }
        return due
    }

    /// By the wall clock: the end of a window is a time of day.
    private mutating func openBatches(
        _ executor: CommandExecutor, _ now: Int64, _ monotonic: Int64
    ) throws(DatabaseError) -> [IssuedCommand] {
        guard executor.isLeader else { return [] }
        let all = try executor.batches.due(at: now, most: Self.batchesMax).map { IssuedCommand(ofGateway: OpenBatch($0)) }
        var rows = 0
        let fitting = all.prefix { command in
            rows += command.rows
            // One in any case, as of requests.
            return rows == command.rows || rows <= rowsMax / 2
        }
        // After an outage many are due.
        if fitting.count < all.count || all.count == Self.batchesMax { lookAt = monotonic }
        return Array(fitting)
    }

    private mutating func endAbsences(
        _ executor: CommandExecutor, _ now: Int64, _ monotonic: Int64, rows: Int
    ) throws(DatabaseError) -> [IssuedCommand] {
        let most = min(Self.driversMax, rows / EndAvailability.rowsMax)
        guard most > 0 else { return [] }
        let away = try executor.driversAway(after: roundAfter ?? "", now: now, most: most, &roundAfter)
        if roundAfter == nil { roundAt = monotonic + Timing.roundInterval }
        return executor.isLeader ? away.map { IssuedCommand(ofGateway: EndAvailability(accountID: $0)) } : []
    }
}

extension [IssuedCommand] {
    fileprivate var rows: Int { reduce(0) { $0 + $1.rows } }
}
