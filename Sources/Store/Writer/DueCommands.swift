import Access
import FleetRules
import Primitives

/// Finds what time makes due, once a second: batches whose windows have ended, drivers who were away for so long that they go
/// offline, and open orders and routes that nobody ends (``IdleJobs``). The writer executes it as commands of the gateway.
struct DueCommands {
    /// The task's name in ``StoreEvent/backgroundTaskFailed(_:kind:)``.
    static let name = "due_commands"

    /// Milliseconds between two looks.
    private static let interval: Int64 = 1_000
    /// Milliseconds between two rounds through the drivers who are online. A driver who was connected is away from the last
    /// round on that saw the connection.
    fileprivate static let roundInterval: Int64 = 600_000
    /// The most batches, and the most drivers, of one look.
    private static let (batchesMax, driversMax) = (50, 500)

    /// Whether the gateway keeps drivers' accounts: otherwise there are no batches, and nobody goes offline.
    private let keepsAccounts: Bool
    private var idleJobs: IdleJobs
    /// When to look next, in monotonic milliseconds.
    private var lookAt: Int64 = 0
    /// When the next round through the drivers begins, in monotonic milliseconds.
    private var roundAt: Int64 = 0
    /// The last account of the round; nil between rounds.
    private var roundAfter: String?

    init(keepsAccounts: Bool, openDays: Int) {
        self.keepsAccounts = keepsAccounts
        idleJobs = IdleJobs(days: openDays)
    }

    func isDue(at monotonic: Int64) -> Bool { monotonic >= lookAt }

    /// The milliseconds until the next look.
    func wait(at monotonic: Int64) -> Int64 { max(0, lookAt - monotonic) }

    /// Looks again in a second, although more may be due.
    mutating func postpone(at monotonic: Int64) { lookAt = monotonic + Self.interval }

    /// In a cluster, the node that leads does what is due; the others only store whom they have seen.
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - monotonic: milliseconds.
    ///   - isClockTrusted: if false, no order or route ends because of its age.
    mutating func next(
        _ executor: CommandExecutor, now: Int64, monotonic: Int64, isClockTrusted: Bool = true
    ) throws(DatabaseError) -> [Command] {
        lookAt = monotonic + Self.interval
        var idle: [Command] = []
        if executor.isLeader, isClockTrusted {
            idle = try idleJobs.next(executor, now: now - executor.clockLead, monotonic: monotonic)
        }
        guard keepsAccounts else { return idle }
        // By the wall clock: the end of a window is a time of day.
        let due = executor.isLeader ? try executor.batches.due(at: now, most: Self.batchesMax) : []
        var actions = due.map { Command.Action.batch(.open($0)) }
        // After an outage many are due.
        if actions.count == Self.batchesMax { lookAt = monotonic }
        if monotonic >= roundAt {
            let away = try executor.driversAway(after: roundAfter ?? "", now: now, most: Self.driversMax, &roundAfter)
            if executor.isLeader { actions += away.map { .endAvailability(accountID: $0) } }
            if roundAfter == nil { roundAt = monotonic + Self.roundInterval }
        }
        return actions.map { Command(ofGateway: $0) } + idle
    }
}

extension CommandExecutor {
    /// Stores when the drivers who are online were last seen. Called when the writer stops.
    func saveLastRequests(now: Int64) throws(DatabaseError) {
        var last: String? = ""
        while let account = last { _ = try driversAway(after: account, now: now, most: 500, &last) }
    }

    /// Looks at some of the drivers who are online, and stores when those were seen who have come back.
    /// - Parameter last: gets the last of them; nil at the end of the round.
    /// - Returns: the accounts of those who were away for too long.
    ///
    /// In a cluster, other nodes may store a little later whom they have seen.
    fileprivate func driversAway(
        after account: String, now: Int64, most: Int, _ last: inout String?
    ) throws(DatabaseError) -> [ObjectID] {
        let trusted = now - clockLead
        let idleMax = Availability.idleMax + (clusterLog == nil ? 0 : DueCommands.roundInterval + 60_000)
        let page = try outbox.availability.online(after: account, most: most)
        last = page.count == most ? page.last?.account : nil
        var away: [ObjectID] = []
        var seen: [(account: String, at: Int64)] = []
        for driver in page {
            // A time in the future is of before the clock was set back.
            let newest = isConnected(driver.personID) ? trusted : lastRequest(driver.personID) ?? driver.seenAt
            let seenAt = min(max(newest, driver.seenAt), trusted)
            if seenAt != driver.seenAt { seen.append((driver.account, seenAt)) }
            if trusted - seenAt >= idleMax, let id = ObjectID(driver.account) { away.append(id) }
        }
        guard !seen.isEmpty else { return away }
        try transaction(declaring: seen.count) { () throws(DatabaseError) in
            for driver in seen { try outbox.availability.setSeen(driver.account, at: driver.at) }
        }
        return away
    }
}

extension Command {
    /// What the gateway does itself.
    init(ofGateway action: Action, expectedVersion: Int? = nil) {
        self.init(
            actor: Identity(role: .ops, id: "gateway"), action: action,
            correlationID: "gateway-" + String(UInt64.random(in: .min ... .max), radix: 16), expectedVersion: expectedVersion)
    }
}
