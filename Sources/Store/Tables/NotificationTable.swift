import FleetRules

/// The log of notifications.
struct NotificationTable {
    /// The columns of ``LoggedNotification``.
    static let columns = "\(columnsWithoutReadMark), read_at"
    /// The same, for statements that read the mark from another table.
    static let columnsWithoutReadMark = """
        id, channel, sequence, event, data, correlation_id, actor, action, created_at, expires_at, collapse_key
        """
    private static let select = "SELECT \(columns) FROM notifications"
    /// Greater than every sequence number.
    private static let end = Int64.max

    let database: Database

    /// The greatest id; nil if the table is empty.
    func lastID() throws(DatabaseError) -> String? {
        try database.first("SELECT MAX(id) FROM notifications", as: { $0.optionalString(0) }) ?? nil
    }

    func append(_ logged: LoggedNotification) throws(DatabaseError) {
        let notification = logged.notification
        try database.change(
            Self.insert, .string(notification.id), .string(notification.channel), .integer(logged.sequence),
            .string(notification.event), .utf8(notification.data), .string(logged.correlationID), .string(logged.actor),
            .string(logged.action), .integer(notification.createdAt), .integer(notification.expiresAt),
            .string(notification.collapseKey), .integer(notification.hasOwner ? 1 : 0))
    }

    private static let insert = SQL(
        "INSERT INTO notifications (\(columns), unconfirmed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)")

    func notification(id: String) throws(DatabaseError) -> LoggedNotification? {
        try database.first(Self.selectByID, .string(id), as: LoggedNotification.init(row:))
    }

    private static let selectByID = SQL("\(select) WHERE id = ?")

    /// What telemetry needs of a notification.
    struct Head {
        let id: String
        let channel: String
        let event: String
        let createdAt: Int64
    }

    /// Nil if the notification is not in the log.
    func head(of id: String) throws(DatabaseError) -> Head? {
        try database.first(
            "SELECT channel, event, created_at FROM notifications WHERE id = ?", .string(id),
            as: { Head(id: id, channel: $0.string(0), event: $0.string(1), createdAt: $0.integer(2)) })
    }

    /// A channel's notifications before `sequence`, newest first. If `sequence` is nil, starts with the newest.
    func newest(channel: String, before sequence: Int64?, limit: Int) throws(DatabaseError) -> [LoggedNotification] {
        try database.all(
            Self.selectByChannel, .string(channel), .integer(sequence ?? Self.end), .integer(limit),
            as: LoggedNotification.init(row:))
    }

    private static let selectByChannel = SQL("\(select) WHERE channel = ? AND sequence < ? ORDER BY sequence DESC LIMIT ?")

    /// The sequence number of a channel's last notification whose id is less than `id`, which need not be that of a
    /// notification; nil if there is none. Ids increase with the sequence numbers, so it is found by bisection: the channel
    /// may have very many notifications on both sides.
    func sequence(of channel: String, before id: String) throws(DatabaseError) -> Int64? {
        let last = try database.first(
            "SELECT MAX(sequence) FROM notifications WHERE channel = ?", .string(channel), as: { $0.optionalInteger(0) })
        guard var high = last ?? nil else { return nil }
        var (low, found) = (Int64(1), Int64?.none)
        while low <= high {
            let middle = low + (high - low) / 2
            // Retention has deleted the first ones.
            let next = try database.first(
                "SELECT sequence, id FROM notifications WHERE channel = ? AND sequence > ? ORDER BY sequence LIMIT 1",
                .string(channel), .integer(middle - 1), as: { (sequence: $0.integer(0), id: $0.string(1)) })
            if let next, next.id < id {
                found = next.sequence
                low = next.sequence + 1
            } else {
                high = middle - 1
            }
        }
        return found
    }

    /// The notifications of a channel from this one on, in the order of the channel.
    func following(_ first: LoggedNotification) throws(DatabaseError) -> [LoggedNotification] {
        try database.all(
            Self.selectFollowing, .string(first.notification.channel), .integer(first.sequence),
            as: LoggedNotification.init(row:))
    }

    private static let selectFollowing = SQL("\(select) WHERE channel = ? AND sequence >= ? ORDER BY sequence")

    // MARK: Read marks

    /// Marks a channel's notifications as read: those whose ids are in `ids`, or all after the sequence number `after`
    /// if `ids` is nil. Ignores notifications of other channels and those that are already marked as read.
    /// - Returns: the newly marked notifications' events, and whether each notification was unread before.
    func markRead(
        _ ids: [String]?, channel: String, after: Int64, now: Int64
    ) throws(DatabaseError) -> [(event: String, wasUnread: Bool)] {
        // The statements return `seen_at` instead of "seen_at IS NULL": SQLite 3.40 evaluates this expression wrongly
        // in RETURNING if another column is declared NOT NULL.
        let mark: (Row) -> (event: String, wasUnread: Bool) = { ($0.string(1), $0.isNull(0)) }
        guard let ids else {
            return try database.all(
                """
                UPDATE notifications SET read_at = ? WHERE channel = ? AND sequence > ? AND read_at IS NULL \
                RETURNING seen_at, event
                """, .integer(now), .string(channel), .integer(after), as: mark)
        }
        var marked: [(event: String, wasUnread: Bool)] = []
        for id in ids {
            marked += try database.all(
                """
                UPDATE notifications SET read_at = ? WHERE channel = ? AND read_at IS NULL AND id = ? \
                RETURNING seen_at, event
                """, .integer(now), .string(channel), .string(id), as: mark)
        }
        return marked
    }

    /// Records the first action of a channel's owner on a notification.
    /// - Returns: true if the notification was unread before. False if it is not on this channel.
    func markSeen(_ id: String, channel: String, now: Int64) throws(DatabaseError) -> Bool {
        try database.first(
            "UPDATE notifications SET seen_at = ? WHERE id = ? AND channel = ? AND seen_at IS NULL RETURNING read_at",
            .integer(now), .string(id), .string(channel), as: { $0.isNull(0) }) ?? false
    }

    // MARK: Redaction

    /// The parts of a notification that show which people it concerns.
    struct RedactionRow {
        let id: String
        let channel: String
        let actor: String
        let data: [UInt8]
    }

    /// At most `most` notifications with ids greater than `after`, up to and including `last`, in id order.
    func rowsToRedact(after: String, upTo last: String, most: Int) throws(DatabaseError) -> [RedactionRow] {
        try database.all(
            "SELECT id, channel, actor, data FROM notifications WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
            .string(after), .string(last), .integer(most),
            as: { row in
                RedactionRow(id: row.string(0), channel: row.string(1), actor: row.string(2), data: row.bytes(3))
            })
    }

    func replaceData(of id: String, by data: [UInt8]) throws(DatabaseError) {
        try database.change("UPDATE notifications SET data = ? WHERE id = ?", .utf8(data), .string(id))
    }

    // MARK: Expiry and retention

    /// Counts by event the notifications for one person, or for all drivers, that expired after `start`, up to and
    /// including `end`, without a reported step or a mark.
    func expired(after start: Int64, upTo end: Int64) throws(DatabaseError) -> [(event: String, count: Int)] {
        try database.all(
            """
            SELECT event, COUNT(*) FROM notifications WHERE expires_at > ? AND expires_at <= ? \
            AND channel > 'customer-' AND channel < 'drivers-d' AND read_at IS NULL AND seen_at IS NULL \
            AND NOT EXISTS (SELECT 1 FROM notification_steps WHERE notification_id = notifications.id) GROUP BY event
            """, .integer(start), .integer(end), as: { ($0.string(0), Int($0.integer(1))) })
    }

    /// Counts of deleted notifications.
    struct DeletionCounts {
        var count = 0
        /// How many of the `count` notifications were unread: neither read nor acted upon.
        var unread = 0

        mutating func add(wasUnread: Bool) {
            count += 1
            if wasUnread { unread += 1 }
        }
    }

    /// Deletes notifications created before `cutoff`, the oldest first, at most `most`. Also deletes their steps.
    /// - Returns: the counts of deleted notifications, by channel.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> [String: DeletionCounts] {
        try database.change(Self.deleteSteps, .integer(cutoff), .integer(most))
        var changes: [String: DeletionCounts] = [:]
        try database.each(Self.deleteOld, .integer(cutoff), .integer(most)) { row in
            changes[row.string(0), default: DeletionCounts()].add(wasUnread: row.isNull(1) && row.isNull(2))
        }
        return changes
    }

    /// The notifications that ``deleteExpired(before:most:)`` deletes.
    static let old = "(SELECT id FROM notifications WHERE created_at < ? ORDER BY created_at, id LIMIT ?)"
    private static let deleteSteps = SQL("DELETE FROM notification_steps WHERE notification_id IN \(old)")
    private static let deleteOld = SQL("DELETE FROM notifications WHERE id IN \(old) RETURNING channel, read_at, seen_at")
}

extension LoggedNotification {
    init(row: Row) {
        self.init(
            notification: Notification(
                id: row.string(0), channel: row.string(1), event: row.string(3), data: row.bytes(4),
                createdAt: row.integer(8), expiresAt: row.integer(9), collapseKey: row.string(10)),
            sequence: row.integer(2), correlationID: row.string(5), actor: row.string(6), action: row.string(7),
            readAt: row.optionalInteger(11))
    }
}
