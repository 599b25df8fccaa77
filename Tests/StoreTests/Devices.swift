import Access
import CSQLite

@testable import Fleet

func customer(_ id: String, bookings: [String] = [], tokenIssuedAt: Int64? = nil) -> Identity {
    Identity(role: .customer, id: id, bookings: bookings, tokenIssuedAt: tokenIssuedAt)
}

/// An FCM token. The token's text is `token-of-phone-of-` followed by `text`.
func fcm(_ text: String, _ platform: DeviceToken.Platform? = nil) -> DeviceToken {
    DeviceToken(provider: .fcm, platform: platform, environment: nil, text: "token-of-phone-of-\(text)")
}

func apns(_ digits: String, _ environment: DeviceToken.Environment = .production) -> DeviceToken {
    DeviceToken(provider: .apns, platform: .ios, environment: environment, text: digits)
}

func register(
    _ token: DeviceToken, by owner: Identity, deviceID: String? = nil, in form: DeviceRegistration.Form = .fcmToken
) -> IssuedCommand {
    command(DeviceRegistration(.register, token, deviceID: deviceID, form: form), by: owner)
}

func unregister(_ token: DeviceToken, by owner: Identity) -> IssuedCommand {
    command(DeviceRegistration(.unregister, token, form: .fcmToken), by: owner)
}

/// An announcement to each of the drivers, on the driver's own channel.
func announce(to drivers: String..., of type: String = "HELLO") -> IssuedCommand {
    command(Announce(Announcement(type: type, audience: .drivers(drivers), data: Array("{}".utf8))))
}

let announceToAll = command(Announce(Announcement(type: "HELLO", audience: .everyDriver, data: Array("{}".utf8))))

/// Rules by which the notifications of these tests are pushed and expire after an hour.
let pushingRules: NotificationRules = {
    let names = [
        "job-assigned", "job-removed", "job-cancelled", "order-removed", "HELLO", "driver-removed", "driver_arrival",
        "driver-arrival",
    ]
    let rule = NotificationRules.Rule(lifetimeSeconds: 3600, collapsesByJob: false)
    return NotificationRules(rules: Dictionary(uniqueKeysWithValues: names.map { ($0, rule) }))
}()

extension TemporaryStore {
    /// An executor with these lanes enabled.
    func pushing(
        _ lanes: Set<PushLane> = Set(PushLane.allCases), keys: DeviceKeys = testKeys("k1"), at now: Int64 = noon
    ) throws -> CommandExecutor {
        try executor(at: now) {
            $0.rules = pushingRules
            $0.lanes = lanes
            $0.keys = keys
        }
    }
}

extension CommandExecutor {
    /// Reports outcomes of a lane, and leases at most `capacity` jobs to the lane.
    @discardableResult func report(
        _ outcomes: [PushOutcome] = [], capacity: Int = 0, _ lane: PushLane = .fcm, at now: Int64 = noon
    ) throws -> PushLease {
        try handle(PushReport(lane: lane, outcomes: outcomes, capacity: capacity), at: now).lease
    }

    /// Handles a report in a transaction.
    func handle(_ report: PushReport, at now: Int64 = noon) throws -> PushOutbox.PushReportReply {
        try transaction { () throws(DatabaseError) in try outbox.handle(report, now: now) }
    }

    /// Leases the next jobs to a lane.
    func claim(_ capacity: Int = 100, _ lane: PushLane = .fcm, at now: Int64 = noon) throws -> [PushJob] {
        try report(capacity: capacity, lane, at: now).jobs
    }

    /// Runs a slice of the first background task that is left.
    /// - Returns: the lanes that have new jobs.
    func runBackgroundSlice(at now: Int64) throws -> Set<PushLane> {
        guard let task = BackgroundTask.allCases.first(where: backgroundTasks.contains) else { return [] }
        return try runSlice(of: task, now: now)
    }

    /// Runs all background tasks to their end.
    /// - Returns: the number of slices.
    @discardableResult func runBackgroundTasks(at now: Int64 = noon) throws -> Int {
        var slices = 0
        while !backgroundTasks.isEmpty {
            _ = try runBackgroundSlice(at: now)
            slices += 1
        }
        return slices
    }

    /// The jobs in the order of their numbers, behind those that have left the queue: `driver:42|failed|BadTopic`.
    func jobs() throws -> [String] {
        let moved = try database.dump(
            """
            SELECT CASE WHEN recipient <> '' THEN recipient ELSE 'driver:' || SUBSTR(channel, 8) END, CASE state / 10 \
            WHEN 0 THEN 'failed' WHEN 1 THEN 'accepted' WHEN 2 THEN 'expired' ELSE 'cancelled' END, COALESCE(reason, '') \
            FROM push_outcomes JOIN notifications ON notifications.number = push_outcomes.number \
            ORDER BY push_outcomes.number, 1
            """)
        return try moved + database.dump("SELECT recipient, state, COALESCE(reason, '') FROM push_jobs ORDER BY number")
    }

    /// The masked token and the owner of each device, `toke…of-a|driver:42`, sorted by masked token.
    func deviceOwners() throws -> [String] { try database.dump("SELECT masked, owner FROM devices ORDER BY masked") }

    /// The number of instructions of SQLite's virtual machine that `body` executes, rounded down to hundreds.
    func instructions(_ body: () throws -> Void) rethrows -> Int {
        let count = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        count.pointee = 0
        defer { count.deallocate() }
        sqlite3_progress_handler(database.file.handle, 100, Self.count, count)
        defer { sqlite3_progress_handler(database.file.handle, 0, nil, nil) }
        try body()
        return count.pointee * 100
    }

    private static let count: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { argument in
        argument?.assumingMemoryBound(to: Int.self).pointee += 1
        return 0
    }
}
