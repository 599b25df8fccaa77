import FleetRules

/// The push jobs as a queue of each lane: what is next, what is due again, and what is too late.
struct PushQueue {
    private let selectNext: Statement
    private let take: Statement
    private let drop: Statement
    private let expire: Statement
    private let selectDue: Statement
    private let wake: Statement
    private let advanceDueTimes: Statement
    private let selectNextDue: Statement
    private let selectFirst: Statement
    private let countReady: Statement
    private let countWaiting: Statement
    private let selectQueuedAt: Statement

    init(_ database: Database) throws(DatabaseError) {
        selectNext = try Statement(Self.next, on: database)
        take = try Statement(
            "UPDATE push_jobs SET state = 'sending', attempts = attempts + 1 WHERE number = ?", on: database)
        drop = try Statement(
            "UPDATE push_jobs SET state = ?, reason = ?, settled_at = ? WHERE number = ?", on: database)
        expire = try Statement(Self.expire, on: database)
        selectDue = try Statement(Self.due, on: database)
        wake = try Statement("UPDATE push_jobs SET state = 'queued', turn = ?, due_at = NULL WHERE number = ?", on: database)
        advanceDueTimes = try Statement(
            "UPDATE push_jobs SET due_at = ? WHERE lane = ? AND state = 'waiting' AND due_at > ?", on: database)
        selectNextDue = try Statement(Self.nextDue, on: database)
        selectFirst = try Statement(Self.first, on: database)
        countReady = try Statement(Self.countReady, on: database)
        countWaiting = try Statement(Self.countWaiting, on: database)
        selectQueuedAt = try Statement("SELECT queued_at FROM push_jobs WHERE number = ?", on: database)
    }

    // MARK: The questions, each with an index that answers it

    /// Turns keep somebody's jobs in order until one has been in a lane's hands and come back, or was made long after its
    /// notification, for every driver's phones. Only of those it is asked whether newer news has overtaken them.
    private static let waitingLanes = "job.attempts > 0 OR job.reason IS NOT NULL OR job.queued_at > notifications.created_at"

    static let next = """
        SELECT job.number, job.notification_id, job.device_id, job.recipient, job.entity, job.attempts, job.turn, \
        job.expires_at, CASE WHEN devices.owner = job.recipient THEN 1 ELSE 0 END, devices.provider, devices.platform, \
        devices.environment, devices.sealed, devices.key_id, devices.last_seen_at, notifications.channel, \
        notifications.event, notifications.data, notifications.created_at, notifications.collapse_key, preferences.json, \
        CASE WHEN \(waitingLanes) THEN \(PushTable.isSuperseded("job")) ELSE 0 END FROM push_jobs AS job \
        LEFT JOIN devices ON devices.id = job.device_id LEFT JOIN notifications ON notifications.id = job.notification_id \
        LEFT JOIN preferences ON preferences.owner = job.recipient \
        WHERE job.lane = ? AND job.state = 'queued' ORDER BY job.turn, job.number LIMIT ?
        """

    /// Over all that are open, though those in a lane's hands do not expire here: they are few, and would cost an index.
    static let expire = """
        UPDATE push_jobs SET state = 'expired', settled_at = ? WHERE number IN (SELECT number FROM push_jobs WHERE lane = ? \
        AND settled_at IS NULL AND expires_at <= ? AND state IN ('queued', 'waiting') ORDER BY expires_at LIMIT ?)
        """

    static let due = """
        SELECT number, recipient FROM push_jobs WHERE lane = ? AND state = 'waiting' AND due_at <= ? \
        ORDER BY due_at, number LIMIT ?
        """

    static let nextDue = "SELECT due_at FROM push_jobs WHERE lane = ? AND state = 'waiting' ORDER BY due_at, number LIMIT 1"
    static let first = "SELECT turn FROM push_jobs WHERE lane = ? AND state = 'queued' ORDER BY turn, number LIMIT 1"
    static let countReady = "SELECT COUNT(*), MIN(number) FROM push_jobs WHERE lane = ? AND state = 'queued'"
    static let countWaiting = "SELECT COUNT(*), MIN(number) FROM push_jobs WHERE lane = ? AND state = 'waiting'"

    // MARK: What is next

    /// A job as it is picked, with all that its sending needs but the badge; what is missing by now is nil.
    struct Candidate {
        let number: Int64
        let notificationID: String
        let deviceID: String
        let recipient: String
        let entity: PushIntent.Entity?
        let attempts: Int
        let turn: Int64
        let expiresAt: Int64
        let notification: Notification?
        let device: DeviceLookup
        /// JSON.
        let preferences: [UInt8]?
        let isSuperseded: Bool

        /// The device, while it is the recipient's.
        enum DeviceLookup {
            case found(Device)
            case gone
            /// Its row holds what nobody here has written.
            case unreadable
        }

        struct Device {
            let provider: PushProvider
            let platform: DeviceToken.Platform?
            let environment: DeviceToken.Environment?
            let sealed: [UInt8]
            let keyID: String
            let lastSeenAt: Int64
        }
    }

    /// The next jobs of a lane, at most `most`.
    func next(_ lane: PushLane, most: Int) throws(DatabaseError) -> [Candidate] {
        try selectNext.all(.string(lane.rawValue), .integer(most)) { row throws(DatabaseError) in
            Candidate(
                number: row.integer(0), notificationID: row.string(1), deviceID: row.string(2), recipient: row.string(3),
                entity: row.optionalString(4).flatMap { .init(stored: $0) }, attempts: Int(row.integer(5)),
                turn: row.integer(6), expiresAt: row.integer(7), notification: Self.notification(row),
                device: Self.device(row), preferences: row.optionalBytes(20),
                isSuperseded: row.integer(21) == 1)
        }
    }

    private static func device(_ row: Row) -> Candidate.DeviceLookup {
        guard row.integer(8) == 1 else { return .gone }
        guard let origin = row.origin(9, 11) else { return .unreadable }
        return .found(
            Candidate.Device(
                provider: origin.provider, platform: row.platform(10), environment: origin.environment, sealed: row.bytes(12),
                keyID: row.string(13), lastSeenAt: row.integer(14)))
    }

    private static func notification(_ row: Row) -> Notification? {
        guard !row.isNull(15) else { return nil }
        return Notification(
            id: row.string(1), channel: row.string(15), event: row.string(16), data: row.bytes(17), createdAt: row.integer(18),
            expiresAt: row.integer(7), collapseKey: row.string(19))
    }

    /// Puts a job into its lane's hands; that counts as a try until the lane says that it was none.
    func take(_ number: Int64) throws(DatabaseError) { try take.run(.integer(number)) }

    /// Ends a job that no lane has.
    func drop(_ number: Int64, _ state: PushState, reason: String?, now: Int64) throws(DatabaseError) {
        try drop.run(.string(state.rawValue), .string(reason), .integer(now), .integer(number))
    }

    // MARK: What time does

    /// Ends what is not sent and would come too late; answers how many, at most `most`.
    func expire(_ lane: PushLane, now: Int64, most: Int) throws(DatabaseError) -> Int {
        try expire.change(.integer(now), .string(lane.rawValue), .integer(now), .integer(most))
    }

    /// Jobs whose waiting is over, at most `most`, the longest due first.
    func due(_ lane: PushLane, now: Int64, most: Int) throws(DatabaseError) -> [(number: Int64, recipient: String)] {
        try selectDue.all(.string(lane.rawValue), .integer(now), .integer(most)) { row throws(DatabaseError) in
            (row.integer(0), row.string(1))
        }
    }

    /// Has nothing wait beyond a moment: the clock was set back.
    func advanceDueTimes(_ lane: PushLane, to moment: Int64) throws(DatabaseError) {
        try advanceDueTimes.run(.integer(moment), .string(lane.rawValue), .integer(moment))
    }

    func wake(_ number: Int64, turn: Int64) throws(DatabaseError) { try wake.run(.integer(turn), .integer(number)) }

    /// When the next of those that wait is due; nil when none waits.
    func nextDueAt(_ lane: PushLane) throws(DatabaseError) -> Int64? {
        try selectNextDue.first(.string(lane.rawValue)) { row throws(DatabaseError) in row.integer(0) }
    }

    /// The turn of the next job; nil when none is queued.
    func firstTurn(_ lane: PushLane) throws(DatabaseError) -> Int64? {
        try selectFirst.first(.string(lane.rawValue)) { row throws(DatabaseError) in row.integer(0) }
    }

    // MARK: How much there is

    /// How many jobs are queued or wait, and when the oldest of them was queued. It goes through all of them, in an index.
    func measure(_ lane: PushLane) throws(DatabaseError) -> (depth: Int, oldestAt: Int64?) {
        var depth = 0
        var oldest: Int64?
        for count in [countReady, countWaiting] {
            try count.each(.string(lane.rawValue)) { row throws(DatabaseError) in
                depth += Int(row.integer(0))
                if let number = row.optionalInteger(1) { oldest = min(number, oldest ?? number) }
            }
        }
        guard let oldest else { return (depth, nil) }
        return (depth, try selectQueuedAt.first(.integer(oldest)) { row throws(DatabaseError) in row.integer(0) })
    }
}
