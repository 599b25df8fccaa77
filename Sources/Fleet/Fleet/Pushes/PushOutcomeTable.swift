import Crypto

/// The push jobs that have ended. They are many, and only read: by the history of their notification, and by the ids that
/// phones know. So they leave the queue's table and its indexes, soon after they have ended (``move(most:)``); until then
/// both tables are asked.
struct PushOutcomeTable {
    let database: Database

    /// An SQL condition: a row of `push_outcomes`, whose alias is `outcome`, was accepted by the provider.
    static let isAccepted = "outcome.state >= 10 AND outcome.state < 20"
    /// The column `state`: ten times the number of the state here, and the number of the lane.
    private static let states: [PushState] = [.failed, .accepted, .expired, .cancelled]
    private static let lanes: [PushLane] = [.apns, .apnsSandbox, .fcm]
    /// The number of a lane that this version does not know.
    private static let unknownLane = 9

    // MARK: Moving

    fileprivate struct Ended {
        let number: Int64
        let device: String
        let round: Int64
        let recipient: String
        let lane: PushLane?
        let state: PushState?
        let attempts: Int64
        let reason: String?
        let messageID: String?
        let queuedAt: Int64
        let settledAt: Int64
        let collapseKey: String?
        /// Nil if the notification is no longer in the log.
        let notification: Notified?
    }

    /// The notification of a job.
    fileprivate struct Notified {
        let number: Int64
        let channel: String
        let createdAt: Int64
    }

    /// Moves the jobs that ended first here.
    /// - Returns: their number, at most `most`.
    func move(most: Int) throws(DatabaseError) -> Int {
        let jobs = try database.all(Self.selectEnded, .integer(most), as: Ended.init(row:))
        for job in jobs {
            if let notification = job.notification, let state = job.state.flatMap(Self.states.firstIndex) {
                try insert(job, notification, state)
                try addNames(of: job, notification.number)
            }
            try database.change("DELETE FROM push_jobs WHERE number = ?", .integer(job.number))
        }
        return jobs.count
    }

    private static let selectEnded = SQL(
        """
        SELECT \(Ended.columnList) FROM push_jobs AS job \
        LEFT JOIN notifications ON notifications.id = job.notification_id \
        WHERE settled_at IS NOT NULL ORDER BY settled_at LIMIT ?
        """)

    private func insert(_ job: Ended, _ notification: Notified, _ state: Int) throws(DatabaseError) {
        let lane = job.lane.flatMap(Self.lanes.firstIndex) ?? Self.unknownLane
        try database.change(
            """
            INSERT INTO push_outcomes (number, device, round, recipient, state, attempts, reason, message, queued, settled) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (number, device, round) DO NOTHING
            """, .integer(notification.number), .blob(PackedText.pack(job.device)), .integer(job.round),
            .string(ReceiptTable.stored(owner: job.recipient, on: notification.channel)), .integer(state * 10 + lane),
            .integer(job.attempts), .string(job.reason), job.messageID.map { .blob(PackedText.pack($0)) } ?? .null,
            .integer(job.queuedAt - notification.createdAt), .integer(job.settledAt - notification.createdAt))
    }

    // MARK: Names

    /// Digests of what phones know of a push, and of what supersedes one. A digest has 62 bits and one more that says
    /// whether the push was accepted.
    enum Name {
        static func message(_ id: String) -> Int64 { digest(of: "message:\(id)") }

        /// The push of a recipient about an order or route. One more: an accepted one.
        static func subject(_ recipient: String, _ collapseKey: String) -> Int64 {
            digest(of: "subject:\(recipient) \(collapseKey)")
        }

        private static func digest(of text: String) -> Int64 {
            let bytes = SHA256.digest(of: Array(text.utf8)).prefix(8)
            return Int64(bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 2) << 1
        }
    }

    private func names(messageID: String?, recipient: String, collapseKey: String?, isAccepted: Bool) -> [Int64] {
        let subject = collapseKey.map { Name.subject(recipient, $0) + (isAccepted ? 1 : 0) }
        return [messageID.map(Name.message), subject].compactMap { $0 }
    }

    private func addNames(of job: Ended, _ number: Int64) throws(DatabaseError) {
        let names = names(
            messageID: job.messageID, recipient: job.recipient, collapseKey: job.collapseKey,
            isAccepted: job.state == .accepted)
        for name in names {
            try database.change(
                """
                INSERT INTO push_names (name, number) VALUES (?, ?) \
                ON CONFLICT (name) DO UPDATE SET number = excluded.number WHERE push_names.number < excluded.number
                """, .integer(name), .integer(number))
        }
    }

    /// An SQL condition: the recipient has had a newer push about the same order or route.
    /// - Parameter job: the alias of the job's row in the SQL statement.
    static func isSuperseded(_ job: String) -> String {
        """
        EXISTS (SELECT 1 FROM push_names JOIN notifications AS later ON later.number = push_names.number \
        WHERE push_names.name IN (\(job).subject, \(job).subject + 1) AND later.id > \(job).notification_id)
        """
    }

    // MARK: Ids that phones know

    /// The notification of a push with this message id. The digest alone decides: the rows of a notification for all drivers
    /// are too many to look for the id itself.
    func notificationID(ofMessage id: String) throws(DatabaseError) -> String? {
        try notificationID(named: Name.message(id))
    }

    /// The newest accepted push to a recipient with a collapse id.
    func newestNotificationID(withCollapseID id: String, pushedTo recipient: String) throws(DatabaseError) -> String? {
        try notificationID(named: Name.subject(recipient, id) + 1)
    }

    private func notificationID(named name: Int64) throws(DatabaseError) -> String? {
        try database.first(
            """
            SELECT notifications.id FROM push_names JOIN notifications ON notifications.number = push_names.number WHERE name = ?
            """, .integer(name), as: { $0.string(0) })
    }

    // MARK: What became of a notification's pushes

    /// The first push of a notification that a provider has accepted for a recipient; nil if none has.
    func firstAccepted(of id: String, for recipient: String) throws(DatabaseError) -> PushJobTable.Acceptance? {
        let own = try database.first(
            Self.selectFirstOfOwner, .string(id), .string(ReceiptTable.channel(of: recipient)), as: Self.acceptance)
        if let own { return own }
        return try database.first(Self.selectFirstOfRecipient, .string(id), .string(recipient), as: Self.acceptance)
    }

    private static func acceptance(_ row: Row) -> PushJobTable.Acceptance {
        PushJobTable.Acceptance(lane: lane(row.integer(0)), at: row.integer(1) + row.integer(2))
    }

    /// On the recipient's own channel, where all rows are the recipient's.
    private static let selectFirstOfOwner = SQL(selectFirst("channel = ? AND recipient = ''"))
    /// On another channel. The second condition is that of the index, which the rows of all drivers need.
    private static let selectFirstOfRecipient = SQL(selectFirst("recipient = ? AND recipient <> ''"))

    private static func selectFirst(_ condition: String) -> String {
        """
        SELECT state, created_at, settled FROM notifications JOIN push_outcomes AS outcome \
        ON outcome.number = notifications.number WHERE id = ? AND \(condition) AND \(isAccepted) \
        ORDER BY settled LIMIT 1
        """
    }

    /// Whether the notification's push of a round to a device has ended.
    func contains(_ id: String, device: String, round: Int64) throws(DatabaseError) -> Bool {
        try database.first(
            """
            SELECT 1 FROM notifications JOIN push_outcomes AS outcome ON outcome.number = notifications.number \
            WHERE id = ? AND outcome.device = ? AND outcome.round = ?
            """, .string(id), .blob(PackedText.pack(device)), .integer(round), as: { _ in true }) ?? false
    }

    /// At most `most` pushes of a notification.
    func summaries(ofNotification id: String, most: Int) throws(DatabaseError) -> [PushJobTable.PushJobSummary] {
        let rows = try database.all(Self.selectSummaries, .string(id), .integer(most), as: Summary.init(row:)).map(\.job)
        return try rows.map { row throws(DatabaseError) in
            let masked = try database.first(
                "SELECT masked FROM devices WHERE id = ?", .string(row.deviceID), as: { $0.string(0) })
            return masked.map(row.named) ?? row
        }
    }

    private static let selectSummaries = SQL(
        """
        SELECT \(Summary.columnList) FROM notifications JOIN push_outcomes AS outcome \
        ON outcome.number = notifications.number WHERE id = ? ORDER BY outcome.device, outcome.round LIMIT ?
        """)

    private struct Summary: RowRecord {
        let job: PushJobTable.PushJobSummary

        static func columns(_ column: inout some ColumnVisitor<Summary>) throws(DatabaseError) -> Summary {
            let device = try column("outcome.device", \.job.deviceID, as: .packedText)
            let recipient = try column("recipient", \.job.recipient)
            let channel: String = try column(reading: "channel")
            let state: Int64 = try column(reading: "state")
            return Summary(
                job: try PushJobTable.PushJobSummary(
                    deviceID: device, round: column("outcome.round", \.job.round), lane: lane(state),
                    recipient: recipient.isEmpty ? ReceiptTable.owner(of: channel) : recipient, device: device,
                    state: states[min(Int(state / 10), states.count - 1)], attempts: column("attempts", \.job.attempts),
                    reason: column("reason", \.job.reason), messageID: column("message", \.job.messageID, as: .packedText),
                    queuedAt: column("queued + created_at", \.job.queuedAt),
                    settledAt: column("settled + created_at", \.job.settledAt)))
        }
    }

    private static func lane(_ state: Int64) -> PushLane? {
        let number = Int(state % 10)
        return lanes.indices.contains(number) ? lanes[number] : nil
    }

    // MARK: Retention

    /// Deletes at most `most` pushes of the notifications before a number, and their names.
    /// - Returns: the number of deleted pushes.
    func deleteExpired(beforeNumber end: Int64, most: Int) throws(DatabaseError) -> Int {
        let rows = try database.all(
            """
            SELECT outcome.number, recipient, state, message, channel, collapse_key FROM push_outcomes AS outcome \
            LEFT JOIN notifications ON notifications.number = outcome.number WHERE outcome.number < ? \
            ORDER BY outcome.number, outcome.device, outcome.round LIMIT ?
            """, .integer(end), .integer(most),
            as: { row in
                let (stored, channel) = (row.string(1), row.optionalString(4) ?? "")
                let names = names(
                    messageID: row.optionalBytes(3).map(PackedText.unpack),
                    recipient: stored.isEmpty ? ReceiptTable.owner(of: channel) : stored,
                    collapseKey: row.optionalString(5).map { StableID.collapseID(of: PackedWord.unpack($0)) },
                    isAccepted: row.integer(2) / 10 == 1)
                return (number: row.integer(0), names: names)
            })
        for row in rows {
            for name in row.names {
                try database.change(
                    "DELETE FROM push_names WHERE name = ? AND number = ?", .integer(name), .integer(row.number))
            }
        }
        return try database.changeCountingRows(
            """
            DELETE FROM push_outcomes WHERE (number, device, round) IN (SELECT number, device, round FROM push_outcomes \
            WHERE number < ? ORDER BY number, device, round LIMIT ?)
            """, .integer(end), .integer(most))
    }
}

extension PushOutcomeTable.Ended: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try Self(
            number: column("job.number", \.number), device: column("device_id", \.device), round: column("round", \.round),
            recipient: column("recipient", \.recipient), lane: column("lane", \.lane), state: column("state", \.state),
            attempts: column("attempts", \.attempts), reason: column("reason", \.reason),
            messageID: column("message_id", \.messageID), queuedAt: column("queued_at", \.queuedAt),
            settledAt: column("settled_at", \.settledAt), collapseKey: column("job.collapse_key", \.collapseKey),
            notification: column.part(orNull: \.notification))
    }
}

extension PushOutcomeTable.Notified: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try Self(
            number: column("notifications.number", \.number), channel: column("channel", \.channel),
            createdAt: column("created_at", \.createdAt))
    }
}
