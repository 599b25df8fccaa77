import FleetRules
import Primitives

/// How far a push job has come. What is accepted has been in a lane's hands; to the other ends the store has shorter ways:
/// what nobody wants any more, what comes too late, and what cannot be read never gets there.
enum PushState: String {
    case queued
    /// To be tried again when it is due.
    case waiting
    /// In the lane's hands.
    case sending
    case accepted, failed, expired, cancelled
}

/// The push jobs: one notification for one phone each. What lanes take, ``PushQueue`` picks.
struct PushTable {
    private static let unsent = "settled_at IS NULL AND state IN ('queued', 'waiting')"

    private let database: Database
    private let insert: Statement
    private let selectLastTurn: Statement
    private let finish: Statement
    private let postpone: Statement
    private let release: Statement
    private let requeueIfMoved: Statement
    private let cancelIfStale: Statement
    private let cancelDevice: Statement
    private let cancelRecipient: Statement
    private let transfer: Statement
    private let moveLane: Statement
    private let failOrphans: Statement
    private let selectNotification: Statement
    private let deleteOld: Statement

    init(_ database: Database) throws(DatabaseError) {
        self.database = database
        insert = try Statement(
            """
            INSERT INTO push_jobs (number, lane, notification_id, device_id, recipient, entity, collapse_key, state, turn, \
            attempts, queued_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?, 0, ?, ?) \
            ON CONFLICT (notification_id, device_id) DO NOTHING
            """, on: database)
        selectLastTurn = try Statement(Self.lastTurn, on: database)
        let ifSending = "WHERE number = ? AND state = 'sending'"
        finish = try Statement(
            """
            UPDATE push_jobs SET state = ?, attempts = attempts - ?, reason = ?, message_id = ?, settled_at = ? \(ifSending)
            """, on: database)
        postpone = try Statement(
            """
            UPDATE push_jobs SET state = 'waiting', turn = 0, attempts = attempts - ?, due_at = ?, reason = ? \(ifSending) \
            RETURNING lane
            """, on: database)
        release = try Statement(
            "UPDATE push_jobs SET state = 'queued', attempts = attempts - 1 \(ifSending) RETURNING lane", on: database)
        requeueIfMoved = try Statement(
            "UPDATE push_jobs SET state = 'queued', reason = ? \(ifSending) AND device_id <> ? RETURNING lane", on: database)
        cancelIfStale = try Statement(Self.cancelIfStale, on: database)
        let cancel = "UPDATE push_jobs SET state = 'cancelled', reason = ?, settled_at = ? WHERE recipient = ?"
        cancelDevice = try Statement("\(cancel) AND \(Self.unsent) AND device_id = ? RETURNING lane", on: database)
        cancelRecipient = try Statement("\(cancel) AND \(Self.unsent) RETURNING lane", on: database)
        transfer = try Statement(
            """
            UPDATE push_jobs SET device_id = ?, lane = ?, turn = turn + ? WHERE recipient = ? AND settled_at IS NULL \
            AND device_id = ? AND NOT EXISTS (SELECT 1 FROM push_jobs AS other \
            WHERE other.notification_id = push_jobs.notification_id AND other.device_id = ?)
            """, on: database)
        moveLane = try Statement(
            "UPDATE push_jobs SET lane = ?, turn = turn + ? WHERE recipient = ? AND settled_at IS NULL AND device_id = ?",
            on: database)
        failOrphans = try Statement(Self.failOrphans, on: database)
        selectNotification = try Statement(Self.ofNotification, on: database)
        deleteOld = try Statement(Self.deleteOld, on: database)
    }

    static let lastTurn = "SELECT MAX(turn) FROM push_jobs WHERE recipient = ? AND lane = ? AND settled_at IS NULL"

    /// Whether its recipient has been told newer things of the same order or route, or is about to be; what became of those
    /// pushes does not matter, for this one is out of date in any case.
    static func isSuperseded(_ job: String, and more: String = "TRUE") -> String {
        """
        EXISTS (SELECT 1 FROM push_jobs AS newer WHERE newer.recipient = \(job).recipient \
        AND newer.collapse_key = \(job).collapse_key AND newer.notification_id > \(job).notification_id AND \(more))
        """
    }

    /// What was not tried is in its old place again: only what the lanes have had since has overtaken it.
    private static let isNewer = "(push_jobs.state = 'waiting' OR newer.state NOT IN ('queued', 'waiting'))"

    static let cancelIfStale = """
        UPDATE push_jobs SET state = 'cancelled', settled_at = ?, reason = CASE \
        WHEN NOT EXISTS (SELECT 1 FROM devices WHERE devices.id = push_jobs.device_id) THEN 'device_removed' \
        WHEN NOT \(belongsToRecipient) THEN 'new_owner' ELSE 'superseded' END \
        WHERE number = ? AND \(unsent) AND (NOT \(belongsToRecipient) OR \(isSuperseded("push_jobs", and: isNewer)))
        """

    private static let belongsToRecipient = """
        EXISTS (SELECT 1 FROM devices WHERE devices.id = push_jobs.device_id AND devices.owner = push_jobs.recipient)
        """

    private static let failOrphans = """
        UPDATE push_jobs SET state = 'failed', reason = 'device_unreadable', settled_at = ? WHERE number IN \
        (SELECT number FROM push_jobs WHERE \(unsent) \
        AND lane NOT IN (\(PushLane.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", "))) LIMIT ?) RETURNING recipient
        """

    /// By the time that notifications' ids begin with: an index they have anyway.
    static let deleteOld = """
        DELETE FROM push_jobs WHERE number IN (SELECT number FROM push_jobs WHERE notification_id < ? \
        AND settled_at IS NOT NULL ORDER BY notification_id LIMIT ?)
        """

    /// The greatest number there is; 0 when there is none.
    func lastNumber() throws(DatabaseError) -> Int64 { try Statement.value("SELECT MAX(number) FROM push_jobs", on: database) }

    /// What lanes had in their hands when the process was killed, they may send again: the answers are lost.
    func requeueSending() throws(DatabaseError) {
        try database.run("UPDATE push_jobs SET state = 'queued' WHERE settled_at IS NULL AND state = 'sending'")
    }

    // MARK: Queueing

    /// A job in the making.
    struct NewPushJob {
        let notificationID: String
        let entity: PushIntent.Entity?
        /// What a newer one of the same key supersedes; nil: nothing.
        let collapseKey: String?
        let device: DeviceTable.Address
        let queuedAt: Int64
        let expiresAt: Int64
    }

    /// False when the notification has a job for this phone already.
    func queue(_ draft: NewPushJob, number: Int64, turn: Int64) throws(DatabaseError) -> Bool {
        try insert.change(
            .integer(number), .string(draft.device.lane.rawValue), .string(draft.notificationID), .string(draft.device.id),
            .string(draft.device.owner), .string(draft.entity?.stored), .string(draft.collapseKey), .integer(turn),
            .integer(draft.queuedAt), .integer(draft.expiresAt)) > 0
    }

    /// The greatest turn of somebody's open jobs in a lane; nil when he has none.
    func lastTurn(of recipient: String, in lane: PushLane) throws(DatabaseError) -> Int64? {
        try selectLastTurn.first(.string(recipient), .string(lane.rawValue)) { row throws(DatabaseError) in
            row.optionalInteger(0)
        }.flatMap { $0 }
    }

    // MARK: What lanes say

    /// What a lane's word has come to.
    enum UpdateResult {
        case ended
        /// It is in this lane's queue again, which may be another one by now; nil where that is none.
        case open(PushLane?)
        /// No lane had it: it is said twice.
        case unchanged
    }

    /// Notes what became of a job that a lane has; of another, nothing.
    func record(_ outcome: PushOutcome, now: Int64) throws(DatabaseError) -> UpdateResult {
        // The try was counted when the job was handed over.
        let uncounted = SQLValue.integer(outcome.wasTried ? 0 : 1)
        let number = SQLValue.integer(outcome.job.number)
        func finish(_ state: PushState, reason: String? = nil, messageID: String? = nil) throws(DatabaseError) -> UpdateResult {
            let count = try self.finish.change(
                .string(state.rawValue), uncounted, .string(reason), .string(messageID), .integer(now), number)
            return count > 0 ? .ended : .unchanged
        }
        func back(_ lane: PushLane??) -> UpdateResult { lane.map { .open($0) } ?? .unchanged }
        switch outcome.result {
        case .accepted(let messageID): return try finish(.accepted, messageID: messageID)
        case .failed(let reason): return try finish(.failed, reason: reason)
        case .cancelled(let reason): return try finish(.cancelled, reason: reason)
        case .expired: return try finish(.expired)
        case .retry(let at, let reason):
            return back(try postpone.first(uncounted, .integer(at), .string(reason), number, body: Self.lane))
        case .returned: return back(try release.first(number, body: Self.lane))
        }
    }

    /// Queues a job that a lane has tried in vain with a phone that it is no longer for; answers where, nil when it still is.
    func requeue(_ number: Int64, ifNotFor deviceID: String, reason: String) throws(DatabaseError) -> PushLane? {
        try requeueIfMoved.first(.string(reason), .integer(number), .string(deviceID), body: Self.lane) ?? nil
    }

    /// Nil when it is none: somebody has changed the row.
    private static func lane(_ row: Row) -> PushLane? { PushLane(rawValue: row.string(0)) }

    /// Cancels a job that a lane has given back, when its device went, or to somebody else, while the lane had it, or when
    /// there is newer news by now; true then.
    func cancelIfStale(_ number: Int64, now: Int64) throws(DatabaseError) -> Bool {
        try cancelIfStale.change(.integer(now), .integer(number)) > 0
    }

    // MARK: When phones come and go

    /// Cancels what is not sent yet to somebody, or to one of his devices; answers the lane of each job.
    func cancel(of recipient: String, deviceID: String?, reason: String, now: Int64) throws(DatabaseError) -> [PushLane] {
        guard let deviceID else {
            return try cancelRecipient.all(.string(reason), .integer(now), .string(recipient), body: Self.lane)
                .compactMap { $0 }
        }
        return try cancelDevice.all(
            .string(reason), .integer(now), .string(recipient), .string(deviceID), body: Self.lane
        ).compactMap { $0 }
    }

    /// Gives a phone what is open for another, but not what it has already; of what a lane has in its hands, the next try.
    /// - Parameter shift: how much further the lane of the new one has come than the old one's, in turns.
    func transfer(
        of recipient: String, from old: String, to new: DeviceTable.Address, shift: Int64
    ) throws(DatabaseError) {
        try transfer.run(
            .string(new.id), .string(new.lane.rawValue), .integer(shift), .string(recipient), .string(old), .string(new.id))
    }

    /// The same for a phone that now goes by another lane.
    func moveLane(of recipient: String, _ device: DeviceTable.Address, shift: Int64) throws(DatabaseError) {
        try moveLane.run(.string(device.lane.rawValue), .integer(shift), .string(recipient), .string(device.id))
    }

    // MARK: Looking back

    /// What a notification's life tells of one of its jobs.
    struct PushJobSummary {
        /// Nil when it is none: somebody has changed the row.
        let lane: PushLane?
        let recipient: String
        /// Its token, masked; its id when it is gone.
        let device: String
        let state: PushState
        let attempts: Int
        let reason: String?
        let messageID: String?
        let queuedAt: Int64
        let settledAt: Int64?
    }

    static let ofNotification = """
        SELECT job.lane, job.recipient, COALESCE(devices.masked, job.device_id), job.state, job.attempts, job.reason, \
        job.message_id, job.queued_at, job.settled_at FROM push_jobs AS job LEFT JOIN devices ON devices.id = job.device_id \
        WHERE job.notification_id = ? ORDER BY job.device_id LIMIT ?
        """

    /// Some jobs of a notification, at most `most`.
    func summaries(ofNotification id: String, most: Int) throws(DatabaseError) -> [PushJobSummary] {
        try selectNotification.all(.string(id), .integer(most)) { row throws(DatabaseError) in
            guard let state = PushState(rawValue: row.string(3)) else {
                throw .misread("the state '\(row.string(3))'", doing: row.sql)
            }
            return PushJobSummary(
                lane: Self.lane(row), recipient: row.string(1), device: row.string(2), state: state,
                attempts: Int(row.integer(4)), reason: row.optionalString(5), messageID: row.optionalString(6),
                queuedAt: row.integer(7), settledAt: row.optionalInteger(8))
        }
    }

    /// Ends jobs that no lane will ever take, for theirs is none; answers whose they were, at most `most`.
    func failOrphans(now: Int64, most: Int) throws(DatabaseError) -> [String] {
        try failOrphans.all(.integer(now), .integer(most)) { row throws(DatabaseError) in row.string(0) }
    }

    /// Forgets jobs of notifications made before `cutoff`; answers how many. Those that are open come to an end of their own first,
    /// which is counted and told.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        var least = ULIDSource(random: { 0 })
        return try deleteOld.change(.string(least.next(at: max(0, cutoff))), .integer(most))
    }
}

extension PushIntent.Entity {
    /// `job:B-17`, `route:R-3`.
    var stored: String {
        switch self {
        case .job(let id): "job:\(id)"
        case .route(let id): "route:\(id)"
        }
    }

    /// Nil when it is neither. By bytes: behind the colon may stand what would join it to one character.
    init?(stored text: String) {
        if text.utf8.starts(with: "job:".utf8) {
            self = .job(String(Substring(text.utf8.dropFirst(4))))
        } else if text.utf8.starts(with: "route:".utf8) {
            self = .route(String(Substring(text.utf8.dropFirst(6))))
        } else {
            return nil
        }
    }
}
