import Primitives

/// The notifications of bookings' channels that were pushed to customers, one row per customer. With the notifications
/// of the customer's own channel they are what the customer can list and mark as read.
struct InboxTable {
    let database: Database

    /// Adds a notification.
    /// - Parameters:
    ///   - recipient: ``Identity/key`` of a customer.
    ///   - sequence: the last sequence number of the customer's own channel.
    func add(_ notification: Notification, for recipient: String, afterSequence sequence: Int64) throws(DatabaseError) {
        try database.change(
            """
            INSERT INTO inbox_entries (recipient, notification_id, after_sequence, lifetime_end) VALUES (?, ?, ?, ?) \
            ON CONFLICT (recipient, notification_id) DO NOTHING
            """, .string(recipient), .string(notification.id), .integer(sequence), .integer(notification.expiresAt))
    }

    /// The last sequence number that the recipient's own channel had when the notification was added; nil if the
    /// notification is not in the inbox.
    func afterSequence(of id: String, for recipient: String) throws(DatabaseError) -> Int64? {
        try database.first(
            "SELECT after_sequence FROM inbox_entries WHERE recipient = ? AND notification_id = ?", .string(recipient),
            .string(id), as: { $0.integer(0) })
    }

    /// The recipient's entries before the notification `before`, newest first. If `before` is nil, starts with the newest.
    func newest(for recipient: String, before id: String?, limit: Int) throws(DatabaseError) -> [LoggedNotification] {
        // A ULID consists of digits and capitals, which all sort before a tilde.
        try database.all(
            Self.selectNewest, .string(recipient), .string(id ?? "~"), .integer(limit), as: LoggedNotification.init(row:))
    }

    private static let selectNewest = SQL(
        """
        SELECT \(NotificationTable.columns(readAt: ReadMarkTable.entryReadAt)) FROM inbox_entries AS entry \
        JOIN notifications ON notifications.id = entry.notification_id \
        WHERE entry.recipient = ? AND entry.notification_id < ? ORDER BY entry.notification_id DESC LIMIT ?
        """)

    // MARK: Marks

    /// The id of the recipient's newest entry; nil if there is none.
    func lastID(for recipient: String) throws(DatabaseError) -> String? {
        try database.first(
            "SELECT MAX(notification_id) FROM inbox_entries WHERE recipient = ?", .string(recipient),
            as: { $0.optionalString(0) })
    }

    /// Marks some of the recipient's entries as read, except those that are marked.
    /// - Parameter ids: those of the notifications in JSON, an array.
    /// - Returns: the newly marked notifications' ids, and whether each was unread before.
    func markRead(
        ids: [UInt8], for recipient: String, now: Int64
    ) throws(DatabaseError) -> [(id: String, wasUnread: Bool)] {
        try database.all(
            Self.markByID, .integer(now), .utf8(ids), .string(recipient), as: { ($0.string(0), $0.isNull(1)) })
    }

    private static let markByID = SQL(
        """
        UPDATE inbox_entries AS entry SET read_at = ? WHERE notification_id IN (SELECT value FROM json_each(?)) \
        AND recipient = ? AND read_at IS NULL AND NOT \(ReadMarkTable.coversEntry) RETURNING notification_id, seen_at
        """)

    /// Marks the recipient's entries up to a notification as read, at most `most`.
    /// - Returns: the newly marked notifications' ids.
    func markRead(
        upTo last: String, for recipient: String, at moment: Int64, most: Int
    ) throws(DatabaseError) -> [String] {
        try database.all(
            """
            UPDATE inbox_entries SET read_at = ? WHERE recipient = ? AND notification_id IN (SELECT notification_id \
            FROM inbox_entries WHERE recipient = ? AND read_at IS NULL AND notification_id || '' <= ? LIMIT ?) \
            RETURNING notification_id
            """, .integer(moment), .string(recipient), .string(recipient), .string(last), .integer(most),
            as: { $0.string(0) })
    }

    /// Records the recipient's first action on a notification.
    /// - Returns: true if the row had no read mark. False if it is not in the inbox.
    func markSeen(_ id: String, for recipient: String, now: Int64) throws(DatabaseError) -> Bool {
        try database.first(
            """
            UPDATE inbox_entries SET seen_at = ? WHERE recipient = ? AND notification_id = ? AND seen_at IS NULL \
            RETURNING read_at
            """, .integer(now), .string(recipient), .string(id), as: { $0.isNull(0) }) ?? false
    }

    /// The read marks of a notification, as steps of its history.
    func readSteps(of id: String) throws(DatabaseError) -> [NotificationStep] {
        try database.all(
            Self.selectReadSteps, .string(id),
            as: { row in
                row.optionalInteger(1).map { NotificationStep("read", of: id, at: $0, subject: row.string(0)) }
            }
        ).compactMap { $0 }
    }

    private static let selectReadSteps = SQL(
        """
        SELECT recipient, \(ReadMarkTable.entryReadAt) AS marked_at FROM inbox_entries AS entry \
        WHERE notification_id = ? ORDER BY marked_at, recipient
        """)

    // MARK: Erasure

    /// Deletes a recipient's oldest entries, up to a notification.
    /// - Returns: how many were deleted; and those of them that had no read mark in their rows, and whether the recipient had
    ///   acted upon each.
    func remove(
        of recipient: String, upTo id: String, most: Int
    ) throws(DatabaseError) -> (deleted: Int, unmarked: [(id: String, wasSeen: Bool)]) {
        let rows = try database.all(
            """
            DELETE FROM inbox_entries WHERE recipient = ? AND notification_id IN (SELECT notification_id \
            FROM inbox_entries WHERE recipient = ? AND notification_id <= ? ORDER BY notification_id LIMIT ?) \
            RETURNING notification_id, read_at, seen_at
            """, .string(recipient), .string(recipient), .string(id), .integer(most),
            as: { (id: $0.string(0), isMarked: !$0.isNull(1), wasSeen: !$0.isNull(2)) })
        return (rows.count, rows.filter { !$0.isMarked }.map { ($0.id, $0.wasSeen) })
    }

    // MARK: Expiry and retention

    /// Counts by event the entries that expired after `start`, up to and including `end`, without a step or a mark of
    /// their recipient.
    func expired(after start: Int64, upTo end: Int64) throws(DatabaseError) -> [(event: String, count: Int)] {
        try database.all(
            Self.countExpired, .integer(start), .integer(end), as: { ($0.string(0), Int($0.integer(1))) })
    }

    private static let countExpired = SQL(
        """
        SELECT notifications.event, COUNT(*) FROM inbox_entries AS entry \
        JOIN notifications ON notifications.id = entry.notification_id \
        WHERE entry.lifetime_end > ? AND entry.lifetime_end <= ? AND entry.read_at IS NULL AND entry.seen_at IS NULL \
        AND NOT \(ReadMarkTable.coversEntry) \
        AND NOT EXISTS (SELECT 1 FROM notification_steps AS step WHERE step.notification_id = entry.notification_id \
        AND step.subject = entry.recipient) GROUP BY notifications.event
        """)

    /// Deletes entries of the oldest notifications created before `cutoff`, of at most `notifications`.
    /// - Returns: the deleted entries, at most `most`; whether each had a read mark in its row, and whether the recipient had
    ///   acted upon it.
    func deleteExpired(
        before cutoff: Int64, notifications count: Int, most: Int
    ) throws(DatabaseError) -> [(recipient: String, id: String, isMarked: Bool, wasSeen: Bool)] {
        try database.all(
            Self.deleteOld, .string(ULID.least(at: cutoff)), .integer(count), .integer(most),
            as: { (recipient: $0.string(0), id: $0.string(3), isMarked: !$0.isNull(1), wasSeen: !$0.isNull(2)) })
    }

    private static let deleteOld = SQL(
        """
        DELETE FROM inbox_entries WHERE (recipient, notification_id) IN (SELECT recipient, notification_id FROM inbox_entries \
        WHERE notification_id IN \(NotificationTable.old) LIMIT ?) RETURNING recipient, read_at, seen_at, notification_id
        """)
}
