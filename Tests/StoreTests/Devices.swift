import Access
import CSQLite
import FleetRules

@testable import Store

func customer(_ id: String, bookings: [String] = []) -> Identity { Identity(role: .customer, id: id, bookings: bookings) }

/// A token of an Android phone.
func fcm(_ text: String, _ platform: DeviceToken.Platform? = nil) -> DeviceToken {
    DeviceToken(provider: .fcm, platform: platform, environment: nil, text: "token-of-phone-of-\(text)")
}

func apns(_ digits: String, _ environment: DeviceToken.Environment = .production) -> DeviceToken {
    DeviceToken(provider: .apns, platform: .ios, environment: environment, text: digits)
}

func register(
    _ token: DeviceToken, by owner: Identity, deviceID: String? = nil, at endpoint: DeviceRegistration.Endpoint = .fcmToken
) -> Command {
    command(.device(DeviceRegistration(.register, token, deviceID: deviceID, endpoint: endpoint)), by: owner)
}

func unregister(_ token: DeviceToken, by owner: Identity) -> Command {
    command(.device(DeviceRegistration(.unregister, token, endpoint: .fcmToken)), by: owner)
}

/// To each of them on a channel of his own.
func announce(to drivers: String..., of type: String = "HELLO") -> Command {
    command(.announce(Announcement(type: type, audience: .drivers(drivers), data: Array("{}".utf8))))
}

let announceToAll = command(.announce(Announcement(type: "HELLO", audience: .everyDriver, data: Array("{}".utf8))))

/// Everything is pushed, and lives an hour.
let pushingRules: NotificationRules = {
    let names = [
        "job-assigned", "job-removed", "job-cancelled", "order-removed", "HELLO", "driver-removed", "driver_arrival",
        "driver-arrival",
    ]
    let rule = NotificationRules.Rule(lifetimeSeconds: 3600, collapsesByJob: false)
    return NotificationRules(rules: Dictionary(uniqueKeysWithValues: names.map { ($0, rule) }))
}()

extension TemporaryStore {
    /// A ledger that serves these lanes.
    func pushing(
        _ lanes: Set<PushLane> = Set(PushLane.allCases), keys: DeviceKeys = testKeys("k1"), at now: Int64 = noon
    ) throws -> CommandExecutor {
        try ledger(at: now) {
            $0.rules = pushingRules
            $0.lanes = lanes
            $0.keys = keys
        }
    }
}

extension CommandExecutor {
    /// A report in a transaction of its own.
    @discardableResult func report(
        _ outcomes: [PushOutcome] = [], room: Int = 0, _ lane: PushLane = .fcm, at now: Int64 = noon
    ) throws -> PushLease {
        try answer(PushReport(lane: lane, outcomes: outcomes, capacity: room), at: now).lease
    }

    func answer(_ report: PushReport, at now: Int64 = noon) throws -> PushOutbox.ReportReply {
        try transaction { () throws(DatabaseError) in try outbox.handle(report, now: now) }
    }

    /// What the next of a lane are, in its hands from now on.
    func claim(_ room: Int = 100, _ lane: PushLane = .fcm, at now: Int64 = noon) throws -> [PushJob] {
        try report(room: room, lane, at: now).jobs
    }

    /// Does a piece of the first of what is to do between batches.
    func doChore(now: Int64) throws -> Set<PushLane> {
        guard let chore = BackgroundTask.allCases.first(where: backgroundTasks.contains) else { return [] }
        return try runSlice(of: chore, now: now)
    }

    /// Does all that is to do between batches; answers in how many pieces.
    @discardableResult func doChores(at now: Int64 = noon) throws -> Int {
        var pieces = 0
        while !backgroundTasks.isEmpty {
            _ = try doChore(now: now)
            pieces += 1
        }
        return pieces
    }

    /// Each job's device, state and reason, in their order.
    func jobs() throws -> [String] {
        try database.dump("SELECT recipient, state, COALESCE(reason, '') FROM push_jobs ORDER BY number")
    }

    func deviceOwners() throws -> [String] { try database.dump("SELECT masked, owner FROM devices ORDER BY masked") }

    /// How many instructions of SQLite's virtual machine something takes, about.
    func instructions(_ body: () throws -> Void) rethrows -> Int {
        let count = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        count.pointee = 0
        defer { count.deallocate() }
        sqlite3_progress_handler(database.connection.handle, 100, Self.count, count)
        defer { sqlite3_progress_handler(database.connection.handle, 0, nil, nil) }
        try body()
        return count.pointee * 100
    }

    private static let count: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { argument in
        argument?.assumingMemoryBound(to: Int.self).pointee += 1
        return 0
    }
}
