import Primitives

/// A push job's state. A job that is `queued`, `waiting` or `sending` is open; in all other states it has ended. Only a
/// lane's report makes a job `accepted`; the store itself can end a job as `failed`, `expired` or `cancelled`.
enum PushState: String, CaseIterable, ColumnValue {
    case queued
    /// Waits for a retry at its due time.
    case waiting
    /// Leased to a lane, which sends it (``PushLane``).
    case sending
    case accepted, failed, expired, cancelled
}

/// The push jobs: one row per notification, device and round. `PushJobTable+Queue` contains the queries for leasing them.
struct PushJobTable {
    let database: Database
    /// The jobs that have left the queue.
    let outcomes: PushOutcomeTable

    init(database: Database) {
        self.database = database
        outcomes = PushOutcomeTable(database: database)
    }

    /// The greatest job number; 0 if there is none.
    func lastNumber() throws(DatabaseError) -> Int64 {
        try database.first("SELECT MAX(number) FROM push_jobs", as: { $0.integer(0) }) ?? 0
    }

    /// Queues again at most `most` of the jobs that a lane's earlier worker was sending: their results are lost.
    /// - Returns: their number.
    func requeueSending(_ lane: PushLane, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            UPDATE push_jobs SET state = 'queued' WHERE number IN (SELECT number FROM push_jobs WHERE lane = ? \
            AND settled_at IS NULL AND state = 'sending' LIMIT ?)
            """, .string(lane.rawValue), .integer(most))
    }

    /// Returns at most `most` open jobs of tokens with an unknown environment from the sandbox's lane to that of production,
    /// which is tried first.
    /// - Returns: their number.
    func retryAtProduction(most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            UPDATE push_jobs SET lane = 'apns', state = 'waiting', turn = 0, due_at = 0 WHERE number IN (SELECT number \
            FROM push_jobs WHERE lane = 'apns-sandbox' AND settled_at IS NULL AND state <> 'sending' AND device_id IN \
            (SELECT id FROM devices WHERE provider = 'apns' AND environment IS NULL) LIMIT ?)
            """, .integer(most))
    }

    // MARK: Creating jobs

    /// A job to insert.
    struct NewPushJob {
        let notificationID: String
        let entity: PushIntent.Entity?
        /// A newer job for the same recipient with the same key supersedes this job. It is the push's collapse id. If
        /// nil, nothing supersedes the job.
        let collapseKey: String?
        let device: DeviceTable.Address
        /// Whether a confirmation or acknowledgement by the recipient cancels the job.
        let isFallback: Bool
        /// 0 for the notification's first push, n for its n-th reminder.
        let round: Int64
        /// Whether an earlier job for the same device may have ended: a broadcast's jobs are created in slices.
        let mayHaveEnded: Bool
        let queuedAt: Int64
        let expiresAt: Int64
    }

    /// Inserts a job.
    /// - Returns: false if the notification already has a job for this device in this round.
    func queue(_ job: NewPushJob, number: Int64, turn: Int64) throws(DatabaseError) -> Bool {
        if job.mayHaveEnded, try outcomes.contains(job.notificationID, device: job.device.id, round: job.round) { return false }
        return try database.changeCountingRows(
            """
            INSERT INTO push_jobs (number, lane, notification_id, device_id, recipient, entity, collapse_key, state, turn, \
            attempts, fallback, queued_at, expires_at, round, subject) \
            VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?, 0, ?, ?, ?, ?, ?) \
            ON CONFLICT (notification_id, device_id, round) DO NOTHING
            """, .integer(number), .string(job.device.lane.rawValue), .string(job.notificationID), .string(job.device.id),
            .string(job.device.owner), .string(job.entity?.stored), .string(job.collapseKey), .integer(turn),
            .integer(job.isFallback ? 1 : 0), .integer(job.queuedAt), .integer(job.expiresAt), .integer(job.round),
            .integer(job.collapseKey.map { PushOutcomeTable.Name.subject(job.device.owner, $0) })) > 0
    }

    /// Whether a job of the notification for this device has not ended.
    func isOpen(_ notificationID: String, on deviceID: String) throws(DatabaseError) -> Bool {
        try database.first(
            "SELECT 1 FROM push_jobs WHERE notification_id = ? AND device_id = ? AND settled_at IS NULL LIMIT 1",
            .string(notificationID), .string(deviceID), as: { _ in true }) ?? false
    }

    /// The greatest turn of a recipient's open jobs in a lane; nil if there are none.
    func lastTurn(of recipient: String, in lane: PushLane) throws(DatabaseError) -> Int64? {
        try database.first(
            "SELECT MAX(turn) FROM push_jobs WHERE recipient = ? AND lane = ? AND settled_at IS NULL",
            .string(recipient), .string(lane.rawValue), as: { $0.optionalInteger(0) })
    }

    // MARK: Results

    /// The effect of a lane's result on a job.
    enum UpdateResult {
        /// The lane is that of the job, as in `open`.
        case ended(PushLane?)
        /// The job is queued or waiting in this lane. It may be another lane than the one that reported the result, if
        /// the device was registered anew during the attempt. Nil if the stored lane is unknown.
        case open(PushLane?)
        /// The lane keeps the job, or the job was not `sending`: its result has been reported before.
        case unchanged
    }

    /// Records the result of a job. Ignores it unless the job is `sending`.
    func record(_ outcome: PushOutcome, now: Int64) throws(DatabaseError) -> UpdateResult {
        switch outcome.result {
        case .accepted(let messageID): return try end(outcome, .accepted, messageID: messageID, now: now)
        case .failed(let reason): return try end(outcome, .failed, reason: reason, now: now)
        case .cancelled(let reason): return try end(outcome, .cancelled, reason: reason, now: now)
        case .expired: return try end(outcome, .expired, now: now)
        case .retry(let at, let reason): return try postpone(outcome, until: at, reason)
        case .released(let reason): return try postpone(outcome, until: now, reason)
        case .moved(let lane, let reason): return try postpone(outcome, until: now, reason, to: lane)
        case .undecided: return .unchanged
        case .returned:
            let lane = try database.first(
                """
                UPDATE push_jobs SET state = 'queued', attempts = attempts - 1 \
                WHERE number = ? AND state = 'sending' RETURNING lane
                """, .integer(outcome.job.number), as: Self.lane)
            return lane.map { .open($0) } ?? .unchanged
        }
    }

    /// - Parameter other: the job's new lane; nil if it keeps its lane.
    private func postpone(
        _ outcome: PushOutcome, until moment: Int64, _ reason: String, to other: PushLane? = nil
    ) throws(DatabaseError) -> UpdateResult {
        let lane = try database.first(
            """
            UPDATE push_jobs SET state = 'waiting', turn = 0, attempts = attempts - ?, due_at = ?, reason = ?, \
            lane = COALESCE(?, lane) WHERE number = ? AND state = 'sending' RETURNING lane
            """, Self.uncounted(outcome), .integer(moment), .string(reason), .string(other?.rawValue),
            .integer(outcome.job.number), as: Self.lane)
        return lane.map { .open($0) } ?? .unchanged
    }

    private func end(
        _ outcome: PushOutcome, _ state: PushState, reason: String? = nil, messageID: String? = nil, now: Int64
    ) throws(DatabaseError) -> UpdateResult {
        let lane = try database.first(
            """
            UPDATE push_jobs SET state = ?, attempts = attempts - ?, reason = ?, message_id = ?, settled_at = ? \
            WHERE number = ? AND state = 'sending' RETURNING lane
            """, .string(state.rawValue), Self.uncounted(outcome), .string(reason), .string(messageID), .integer(now),
            .integer(outcome.job.number), as: Self.lane)
        return lane.map { .ended($0) } ?? .unchanged
    }

    /// The number of attempts to subtract: 1 if the result does not count as an attempt, because the lease has counted
    /// one already; otherwise 0.
    private static func uncounted(_ outcome: PushOutcome) -> SQLValue { .integer(outcome.wasTried ? 0 : 1) }

    /// Queues a job again if the provider rejected the token of `deviceID` and the job was moved to another device
    /// row during the attempt.
    /// - Returns: the lane of the job; nil if the job still has `deviceID`, or if the stored lane is unknown.
    func requeue(_ number: Int64, unlessFor deviceID: String, reason: String) throws(DatabaseError) -> PushLane? {
        try database.first(
            """
            UPDATE push_jobs SET state = 'queued', reason = ? \
            WHERE number = ? AND state = 'sending' AND device_id <> ? RETURNING lane
            """, .string(reason), .integer(number), .string(deviceID), as: Self.lane)
    }

    /// Nil if the stored lane is unknown.
    static func lane(_ row: Row) -> PushLane? { PushLane(rawValue: row.string(0)) }

    /// Whether this accepted job is the first that was accepted for its notification and recipient.
    func isFirstAccepted(_ job: PushJob) throws(DatabaseError) -> Bool {
        let other = try database.first(
            """
            SELECT 1 FROM push_jobs WHERE notification_id = ? AND recipient = ? AND state = 'accepted' AND number <> ? LIMIT 1
            """, .string(job.notification.id), .string(job.recipient), .integer(job.number), as: { _ in true })
        if other != nil { return false }
        return try outcomes.firstAccepted(of: job.notification.id, for: job.recipient) == nil
    }

    /// That a provider has accepted a push.
    struct Acceptance {
        /// Nil if the stored lane is unknown.
        let lane: PushLane?
        /// Milliseconds since 1970.
        let at: Int64
    }

    /// The first push of a notification that a provider has accepted for a recipient; nil if none has.
    func firstAccepted(of notificationID: String, for recipient: String) throws(DatabaseError) -> Acceptance? {
        let queued = try database.first(
            """
            SELECT lane, settled_at FROM push_jobs WHERE notification_id = ? AND recipient = ? AND state = 'accepted' \
            ORDER BY settled_at, number LIMIT 1
            """, .string(notificationID), .string(recipient),
            as: { Acceptance(lane: Self.lane($0), at: $0.integer(1)) })
        guard let moved = try outcomes.firstAccepted(of: notificationID, for: recipient) else { return queued }
        return queued.map { $0.at < moved.at ? $0 : moved } ?? moved
    }

    /// Whether the recipient has got the job's notification by another push, or another push of it is open.
    func mayArrive(_ job: PushJob) throws(DatabaseError) -> Bool {
        let other = try database.first(
            """
            SELECT 1 FROM push_jobs WHERE notification_id = ? AND recipient = ? \
            AND (state = 'accepted' OR settled_at IS NULL) AND number <> ? LIMIT 1
            """, .string(job.notification.id), .string(job.recipient), .integer(job.number), as: { _ in true })
        if other != nil { return true }
        return try outcomes.firstAccepted(of: job.notification.id, for: job.recipient) != nil
    }

    // MARK: Ids that phones know

    /// The notification of the newest push with this message id: the `apns-id`, or FCM's id of the message.
    func notificationID(ofMessage id: String) throws(DatabaseError) -> String? {
        let queued = try database.first(
            "SELECT notification_id FROM push_jobs WHERE message_id = ? ORDER BY number DESC LIMIT 1", .string(id),
            as: { $0.string(0) })
        if let queued { return queued }
        return try outcomes.notificationID(ofMessage: id)
    }

    /// The newest notification with this collapse id that was pushed to the recipient. Includes a push whose result is
    /// not known yet: the phone may be faster than the provider's response.
    func newestNotificationID(withCollapseID id: String, pushedTo recipient: String) throws(DatabaseError) -> String? {
        let queued = try database.first(
            """
            SELECT notification_id FROM push_jobs WHERE recipient = ? AND collapse_key = ? \
            AND state IN ('sending', 'accepted') ORDER BY notification_id DESC LIMIT 1
            """, .string(recipient), .string(id), as: { $0.string(0) })
        let moved = try outcomes.newestNotificationID(withCollapseID: id, pushedTo: recipient)
        return [queued, moved].compactMap { $0 }.max()
    }

    // MARK: Stale jobs

    /// Cancels the unsent jobs of a recipient's older notifications about the same order or route: the newer
    /// notification would replace them on the device.
    /// - Parameter notificationID: the newer notification.
    /// - Parameter most: the most jobs that are cancelled.
    /// - Parameter onCancel: called with the lane of each cancelled job, at the latest by the commit.
    func supersede(
        of recipient: String, _ collapseKey: String, before notificationID: String, now: Int64, most: Int,
        onCancel: @escaping (PushLane) -> Void
    ) throws(DatabaseError) {
        try database.change(
            """
            UPDATE push_jobs SET state = 'cancelled', reason = 'superseded', settled_at = ? WHERE number IN (SELECT number \
            FROM push_jobs WHERE recipient = ? AND collapse_key = ? AND notification_id < ? \
            AND state IN ('queued', 'waiting') LIMIT ?) RETURNING lane
            """, .integer(now), .string(recipient), .string(collapseKey), .string(notificationID),
            .integer(most)
        ) { row in
            if let lane = Self.lane(row) { onCancel(lane) }
        }
    }

    /// Cancels a job that a lane has reported and that is still open, if its device was removed or has another owner by
    /// now, if a newer job supersedes it, or if its recipient has confirmed or acknowledged the notification.
    /// - Returns: true if the job was cancelled.
    func cancelIfStale(_ number: Int64, now: Int64) throws(DatabaseError) -> Bool {
        try database.changeCountingRows(Self.cancelIfStale, .integer(now), .integer(number)) > 0
    }

    private static let cancelIfStale = SQL(
        """
        UPDATE push_jobs SET state = 'cancelled', settled_at = ?, reason = CASE \
        WHEN \(isConfirmed) THEN 'confirmed' WHEN \(isAcknowledged) THEN 'acknowledged' \
        WHEN NOT EXISTS (SELECT 1 FROM devices WHERE devices.id = push_jobs.device_id) THEN 'device_removed' \
        WHEN NOT \(belongsToRecipient) THEN 'new_owner' ELSE 'superseded' END \
        WHERE number = ? AND settled_at IS NULL AND state IN ('queued', 'waiting') \
        AND (NOT \(belongsToRecipient) OR \(isSuperseded("push_jobs")) OR \(isConfirmed) OR \(isAcknowledged))
        """)

    /// The most jobs of a recipient that a notification, a confirmation or a mark cancels. Further ones are cancelled when
    /// their turn comes.
    static let cancelledMax = 20
    /// The most jobs that move with a device, or are cancelled with a person. Further ones are cancelled when their turn
    /// comes.
    static let movedMax = 500
    /// The most jobs that are cancelled with a device. Further ones are cancelled when their turn comes.
    static let deviceCancelledMax = 100

    /// Cancels the unsent jobs of a recipient whose notifications the recipient has confirmed or acknowledged, except
    /// those that mirror the notification in any case; at most `most`.
    /// - Returns: the lane of each job.
    func cancelNeedless(
        of recipient: String, reason: String, now: Int64, most: Int
    ) throws(DatabaseError) -> [PushLane] {
        try database.all(
            Self.cancelNeedless, .string(reason), .integer(now), .string(recipient), .integer(most), as: Self.lane
        ).compactMap { $0 }
    }

    private static let cancelNeedless = SQL(
        """
        UPDATE push_jobs SET state = 'cancelled', reason = ?, settled_at = ? WHERE number IN (SELECT number FROM push_jobs \
        WHERE recipient = ? AND settled_at IS NULL AND state IN ('queued', 'waiting') \
        AND (\(isConfirmed) OR \(isAcknowledged)) LIMIT ?) RETURNING lane
        """)

    private static let isConfirmed = "(\(isFallback("notifications.confirmed_at IS NOT NULL")))"
    private static let isAcknowledged = "(\(isFallback(NotificationTable.isAcknowledged)))"

    /// An SQL condition: the job is needless once its notification meets a condition.
    private static func isFallback(_ condition: String) -> String {
        """
        fallback = 1 AND EXISTS (SELECT 1 FROM notifications WHERE notifications.id = push_jobs.notification_id \
        AND \(condition))
        """
    }

    private static let belongsToRecipient = """
        EXISTS (SELECT 1 FROM devices WHERE devices.id = push_jobs.device_id AND devices.owner = push_jobs.recipient)
        """

    /// An SQL condition: the recipient has a newer job for the same order or route. That job may have any state: even
    /// if its push failed, the older job is out of date.
    /// - Parameter job: the alias of the job's row in the SQL statement.
    static func isSuperseded(_ job: String) -> String {
        """
        (EXISTS (SELECT 1 FROM push_jobs AS newer WHERE newer.recipient = \(job).recipient \
        AND newer.collapse_key = \(job).collapse_key AND newer.notification_id > \(job).notification_id) \
        OR \(PushOutcomeTable.isSuperseded(job)))
        """
    }

    // MARK: Device changes

    /// Cancels the unsent jobs of a recipient: those for one device, or all of them if `deviceID` is nil.
    /// - Returns: the lane of each job.
    func cancel(of recipient: String, deviceID: String?, reason: String, now: Int64) throws(DatabaseError) -> [PushLane] {
        guard let deviceID else {
            return try database.all(
                """
                UPDATE push_jobs SET state = 'cancelled', reason = ?, settled_at = ? WHERE number IN (SELECT number \
                FROM push_jobs WHERE recipient = ? AND settled_at IS NULL AND state IN ('queued', 'waiting') LIMIT ?) \
                RETURNING lane
                """, .string(reason), .integer(now), .string(recipient), .integer(Self.movedMax), as: Self.lane
            ).compactMap { $0 }
        }
        return try database.all(
            """
            UPDATE push_jobs SET state = 'cancelled', reason = ?, settled_at = ? WHERE number IN (SELECT number \
            FROM push_jobs WHERE recipient = ? AND settled_at IS NULL AND state IN ('queued', 'waiting') \
            AND device_id = ? LIMIT ?) RETURNING lane
            """, .string(reason), .integer(now), .string(recipient), .string(deviceID),
            .integer(Self.deviceCancelledMax), as: Self.lane
        ).compactMap { $0 }
    }

    /// Moves the open jobs of a device to another device, the newest ``movedMax``, except if that device already has a job of
    /// the same notification and round. A job that is being sent is moved, too; its current attempt still uses the old device.
    /// - Parameter shift: the number to add to the jobs' turns: the current turn of the new device's lane minus that of
    ///   the old device's lane.
    func transfer(
        of recipient: String, from old: String, to new: DeviceTable.Address, shift: Int64
    ) throws(DatabaseError) {
        try database.change(
            """
            UPDATE push_jobs SET device_id = ?, lane = ?, turn = turn + ? WHERE number IN (SELECT number FROM push_jobs AS job \
            WHERE recipient = ? AND settled_at IS NULL AND device_id = ? AND NOT EXISTS (SELECT 1 FROM push_jobs AS other \
            WHERE other.notification_id = job.notification_id AND other.device_id = ? AND other.round = job.round) \
            AND NOT EXISTS (SELECT 1 FROM push_outcomes JOIN notifications ON notifications.number = push_outcomes.number \
            WHERE notifications.id = job.notification_id AND push_outcomes.device = ? AND push_outcomes.round = job.round) \
            ORDER BY number DESC LIMIT ?)
            """, .string(new.id), .string(new.lane.rawValue), .integer(shift), .string(recipient), .string(old),
            .string(new.id), .blob(PackedText.pack(new.id)), .integer(Self.movedMax))
    }

    /// Moves the open jobs of a device to its new lane, the newest ``movedMax``, except those that are in this lane already.
    /// - Parameter shift: as in ``transfer(of:from:to:shift:)``.
    func moveLane(of recipient: String, _ device: DeviceTable.Address, shift: Int64) throws(DatabaseError) {
        try database.change(
            """
            UPDATE push_jobs SET lane = ?, turn = turn + ? WHERE number IN (SELECT number FROM push_jobs WHERE recipient = ? \
            AND settled_at IS NULL AND device_id = ? AND lane <> ? ORDER BY number DESC LIMIT ?)
            """, .string(device.lane.rawValue), .integer(shift), .string(recipient), .string(device.id),
            .string(device.lane.rawValue), .integer(Self.movedMax))
    }
}
