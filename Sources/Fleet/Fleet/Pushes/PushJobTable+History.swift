import Primitives

/// What the histories of notifications show of push jobs, whom they have reached, and the deletion of old ones.
extension PushJobTable {
    /// Whether a push of the notification to the recipient was accepted, or is on its way: the phone may be faster than the
    /// provider's response.
    func isPushed(_ notificationID: String, to recipient: String) throws(DatabaseError) -> Bool {
        let queued = try database.first(
            """
            SELECT 1 FROM push_jobs WHERE notification_id = ? AND recipient = ? AND state IN ('accepted', 'sending') LIMIT 1
            """, .string(notificationID), .string(recipient), as: { _ in true })
        if queued == true { return true }
        return try outcomes.firstAccepted(of: notificationID, for: recipient) != nil
    }

    /// A job, with what the history of its notification contains.
    struct PushJobSummary {
        let deviceID: String
        let round: Int64
        /// Nil if the stored lane is unknown.
        let lane: PushLane?
        let recipient: String
        /// The device's masked token; its id if the device was removed.
        var device: String
        let state: PushState
        let attempts: Int
        let reason: String?
        let messageID: String?
        let queuedAt: Int64
        let settledAt: Int64?

        /// The same with the device's masked token.
        func named(_ device: String) -> Self {
            var summary = self
            summary.device = device
            return summary
        }
    }

    /// At most `most` jobs of a notification.
    func summaries(ofNotification id: String, most: Int) throws(DatabaseError) -> [PushJobSummary] {
        let moved = try outcomes.summaries(ofNotification: id, most: most)
        let queued = try queuedSummaries(ofNotification: id, most: most)
        if moved.isEmpty { return queued }
        let all = (moved + queued).sorted { ($0.deviceID, $0.round) < ($1.deviceID, $1.round) }
        return Array(all.prefix(most))
    }

    private func queuedSummaries(ofNotification id: String, most: Int) throws(DatabaseError) -> [PushJobSummary] {
        try database.all(Self.selectSummaries, .string(id), .integer(most), as: PushJobSummary.init(row:))
    }

    private static let selectSummaries = SQL(
        """
        SELECT \(PushJobSummary.columnList) FROM push_jobs AS job LEFT JOIN devices ON devices.id = job.device_id \
        WHERE job.notification_id = ? ORDER BY job.device_id, job.round LIMIT ?
        """)

    /// Marks unsent jobs as failed if their stored lane is unknown, at most `most`.
    /// - Returns: the recipient of each job.
    func failJobsOfUnknownLanes(now: Int64, most: Int) throws(DatabaseError) -> [String] {
        try database.all(Self.failJobsOfUnknownLanes, .integer(now), .integer(most), as: { $0.string(0) })
    }

    private static let failJobsOfUnknownLanes = SQL(
        """
        UPDATE push_jobs SET state = 'failed', reason = 'device_unreadable', settled_at = ? WHERE number IN \
        (SELECT number FROM push_jobs WHERE settled_at IS NULL AND state IN ('queued', 'waiting') \
        AND lane NOT IN (\(PushLane.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", "))) LIMIT ?) \
        RETURNING recipient
        """)

    /// Deletes at most `most` ended jobs of notifications created before `cutoff`. Open jobs are not deleted: they must
    /// end first, so that their end is counted and reported.
    /// - Returns: the number of deleted jobs.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        // Compares notification ids with the least id of the cutoff's millisecond: an id begins with its time, and
        // there is an index of the notification ids.
        try database.changeCountingRows(
            """
            DELETE FROM push_jobs WHERE number IN (SELECT number FROM push_jobs WHERE notification_id < ? \
            AND settled_at IS NOT NULL ORDER BY notification_id LIMIT ?)
            """, .string(ULID.least(at: cutoff)), .integer(most))
    }
}

extension PushJobTable.PushJobSummary: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try Self(
            deviceID: column("job.device_id", \.deviceID), round: column("job.round", \.round),
            lane: column("job.lane", \.lane), recipient: column("job.recipient", \.recipient),
            device: column("COALESCE(devices.masked, job.device_id)", \.device), state: column("job.state", \.state),
            attempts: column("job.attempts", \.attempts), reason: column("job.reason", \.reason),
            messageID: column("job.message_id", \.messageID), queuedAt: column("job.queued_at", \.queuedAt),
            settledAt: column("job.settled_at", \.settledAt))
    }
}

extension PushLane: ColumnValue {}
