import Primitives

/// The log of notifications.
struct NotificationTable {
    static let table = Table<LoggedNotification>("notifications", key: ["id"], others: ["unconfirmed"])
    /// The columns of ``LoggedNotification``, as statements read them.
    static let columns = columns(readAt: ReadMarkTable.time(orMarkOf: "read_at"))

    /// - Parameter readAt: what stands for the last column, the read mark.
    static func columns(readAt: String) -> String {
        (LoggedNotification.columnNames.dropLast() + [readAt]).joined(separator: ", ")
    }

    private static let select = "SELECT \(columns) FROM notifications"
    /// Greater than every sequence number.
    private static let end = Int64.max

    let database: Database

    /// The greatest id; nil if the table is empty.
    func lastID() throws(DatabaseError) -> String? {
        try database.first("SELECT MAX(id) FROM notifications", as: { $0.optionalString(0) })
    }

    /// The least id; nil if the table is empty.
    func firstID() throws(DatabaseError) -> String? {
        try database.first("SELECT MIN(id) FROM notifications", as: { $0.optionalString(0) })
    }

    func append(_ logged: LoggedNotification) throws(DatabaseError) {
        try database.change(Self.insert, Self.table.values(of: logged, .flag(logged.notification.hasOwner)))
    }

    private static let insert = SQL(
        """
        INSERT INTO notifications (number, \(table.columnList)) \
        VALUES ((SELECT COALESCE(MAX(number), 0) + 1 FROM notifications), \(table.placeholders))
        """)

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
        guard var high = last else { return nil }
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

    /// The newest `most` notifications of a channel from this one on, in the order of the channel.
    func following(_ first: LoggedNotification, most: Int) throws(DatabaseError) -> [LoggedNotification] {
        try database.all(
            Self.selectFollowing, .string(first.notification.channel), .integer(first.sequence), .integer(most),
            as: LoggedNotification.init(row:)
        ).reversed()
    }

    private static let selectFollowing = SQL("\(select) WHERE channel = ? AND sequence >= ? ORDER BY sequence DESC LIMIT ?")

    // MARK: Read marks

    /// A notification that is about to be marked as read.
    struct Unmarked {
        let event: String
        /// Whether its owner has acted upon it.
        let wasSeen: Bool
        let wasAcknowledged: Bool

        fileprivate init(row: Row) {
            event = row.string(0)
            (wasSeen, wasAcknowledged) = (!row.isNull(1), !row.isNull(2))
        }
    }

    /// Marks some of a channel's notifications as read, which also acknowledges them. Ignores those of other channels,
    /// those that are marked, and those up to the sequence number `readTo`.
    /// - Parameter ids: in JSON, an array.
    func markRead(
        ids: [UInt8], channel: String, after readTo: Int64, now: Int64
    ) throws(DatabaseError) -> [Unmarked] {
        let marked = try database.all(
            Self.selectUnmarkedByID, .utf8(ids), .string(channel), .integer(readTo), as: Unmarked.init(row:))
        if !marked.isEmpty {
            try database.change(
                Self.markByID, .integer(now), .integer(now), .utf8(ids), .string(channel), .integer(readTo))
        }
        return marked
    }

    /// The same for all of them after a sequence number up to another one.
    func markRead(
        channel: String, after: Int64, upTo last: Int64, at moment: Int64
    ) throws(DatabaseError) -> [Unmarked] {
        let marked = try database.all(
            Self.selectUnmarked, .string(channel), .integer(after), .integer(last), as: Unmarked.init(row:))
        if !marked.isEmpty {
            try database.change(
                Self.markUpTo, .integer(moment), .integer(moment), .string(channel), .integer(after), .integer(last))
        }
        return marked
    }

    private static let selectUnmarkedRows = "SELECT event, seen_at, acknowledged_at FROM notifications"
    private static let mark =
        "UPDATE notifications SET read_at = ?, acknowledged_at = COALESCE(acknowledged_at, ?), unconfirmed = 0"
    // The sum and COALESCE keep the planner from the index of these columns: the ids find fewer rows.
    private static let areUnmarkedIDs = """
        WHERE id IN (SELECT value FROM json_each(?)) AND COALESCE(channel, '') = ? AND sequence + 0 > ? AND read_at IS NULL
        """
    private static let areUnmarked = "WHERE channel = ? AND sequence > ? AND sequence <= ? AND read_at IS NULL"
    private static let selectUnmarkedByID = SQL("\(selectUnmarkedRows) \(areUnmarkedIDs)")
    private static let markByID = SQL("\(mark) \(areUnmarkedIDs)")
    private static let selectUnmarked = SQL("\(selectUnmarkedRows) \(areUnmarked)")
    private static let markUpTo = SQL("\(mark) \(areUnmarked)")

    /// The sequence number of the notification that is `count` behind `after`; nil if the channel has fewer.
    func sequence(of channel: String, _ count: Int, after: Int64) throws(DatabaseError) -> Int64? {
        try database.first(
            "SELECT sequence FROM notifications WHERE channel = ? AND sequence > ? ORDER BY sequence LIMIT 1 OFFSET ?",
            .string(channel), .integer(after), .integer(count - 1), as: { $0.integer(0) })
    }

    /// Records the first action of a channel's owner on a notification.
    /// - Parameter readTo: all up to this sequence number are read.
    /// - Returns: true if the notification was unread before. False if it is not on this channel.
    func markSeen(_ id: String, channel: String, readTo: Int64, now: Int64) throws(DatabaseError) -> Bool {
        try database.first(
            """
            UPDATE notifications SET seen_at = ? WHERE id = ? AND channel = ? AND seen_at IS NULL RETURNING read_at, sequence
            """, .integer(now), .string(id), .string(channel), as: { $0.isNull(0) && $0.integer(1) > readTo }) ?? false
    }

    // MARK: Redaction

    /// The parts of a notification that show which people it concerns.
    struct RedactionRow {
        let id: String
        let channel: String
        let actor: String
        let correlationID: String
        let data: [UInt8]
    }

    /// At most `most` notifications with ids greater than `after`, up to and including `last`, in id order.
    func rowsToRedact(after: String, upTo last: String, most: Int) throws(DatabaseError) -> [RedactionRow] {
        try database.all(
            "SELECT id, channel, actor, data, correlation_id FROM notifications WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
            .string(after), .string(last), .integer(most),
            as: { row in
                let (id, correlationID) = (row.string(0), PackedText.unpack(row.bytes(4)))
                return RedactionRow(
                    id: id, channel: row.string(1), actor: PackedWord.unpack(row.string(2)), correlationID: correlationID,
                    data: PackedData.unpack(row.bytes(3), id: id, correlationID: correlationID))
            })
    }

    func replaceData(of row: RedactionRow, by data: [UInt8]) throws(DatabaseError) {
        try database.change(
            "UPDATE notifications SET data = ? WHERE id = ?",
            .blob(PackedData.pack(data, id: row.id, correlationID: row.correlationID)), .string(row.id))
    }

    // MARK: Expiry and retention

    /// Of the next notifications of a channel, at most `most`: the sequence number of the last one before which all have
    /// expired; nil if the first has not, or there is none.
    func lastExpired(of channel: String, after: Int64, at now: Int64, most: Int) throws(DatabaseError) -> Int64? {
        let next = try database.all(
            "SELECT sequence, expires_at FROM notifications WHERE channel = ? AND sequence > ? ORDER BY sequence LIMIT ?",
            .string(channel), .integer(after), .integer(most), as: { (sequence: $0.integer(0), expiresAt: $0.integer(1)) })
        return next.prefix { $0.expiresAt <= now }.last?.sequence
    }

    /// Counts by event the notifications for one person, or for all drivers, that expired after `start`, up to and
    /// including `end`, without a reported step or a mark.
    func expired(after start: Int64, upTo end: Int64) throws(DatabaseError) -> [(event: String, count: Int)] {
        try database.all(
            Self.countExpired, .integer(start), .integer(end), as: { ($0.string(0), Int($0.integer(1))) })
    }

    private static let countExpired = SQL(
        """
        SELECT event, COUNT(*) FROM notifications WHERE expires_at > ? AND expires_at <= ? \
        AND channel > 'customer-' AND channel < 'drivers-d' AND read_at IS NULL AND seen_at IS NULL \
        AND NOT \(ReadMarkTable.coversNotification) \
        AND NOT EXISTS (SELECT 1 FROM notification_steps WHERE notification_id = notifications.id) GROUP BY event
        """)

    /// Notifications of a channel that were deleted.
    struct DeletionCounts {
        var count = 0
        /// Those of them that had no read mark in their rows: their sequence numbers, and whether the owner had acted upon
        /// them.
        var unmarked: [(sequence: Int64, wasSeen: Bool)] = []
    }

    /// Deletes notifications created before `cutoff`, the oldest first, at most `most`. The caller has deleted what belongs to
    /// them.
    /// - Returns: the counts of deleted notifications, by channel.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> [String: DeletionCounts] {
        let end = SQLValue.string(ULID.least(at: cutoff))
        var changes: [String: DeletionCounts] = [:]
        try database.each(Self.deleteOld, end, .integer(most)) { row in
            changes[row.string(0), default: DeletionCounts()].count += 1
            if row.isNull(1) { changes[row.string(0)]?.unmarked.append((row.integer(3), !row.isNull(2))) }
        }
        return changes
    }

    /// The notifications that ``deleteExpired(before:most:)`` deletes. Two values: the least id of the cutoff's millisecond,
    /// since ids begin with their times, and the most rows.
    static let old = "(SELECT id FROM notifications WHERE id < ? ORDER BY id LIMIT ?)"

    /// The number behind those of the oldest notifications, of at most `most` that were created before `cutoff`; nil if there
    /// are none.
    func endOfOldest(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int64? {
        try database.first(
            "SELECT MAX(number) FROM (SELECT number FROM notifications WHERE id < ? ORDER BY id LIMIT ?) AS oldest",
            .string(ULID.least(at: cutoff)), .integer(most), as: { $0.optionalInteger(0) })?.map { $0 + 1 }
    }

    /// The number of the first notification that is not old; one behind the last if all are.
    func firstNumber(since cutoff: Int64) throws(DatabaseError) -> Int64 {
        let first = try database.first(
            "SELECT number FROM notifications WHERE id >= ? ORDER BY id LIMIT 1", .string(ULID.least(at: cutoff)),
            as: { $0.integer(0) })
        if let first { return first }
        return try database.first(
            "SELECT COALESCE(MAX(number), 0) + 1 FROM notifications", as: { $0.integer(0) }) ?? 1
    }

    private static let deleteOld = SQL(
        "DELETE FROM notifications WHERE id IN \(old) RETURNING channel, read_at, seen_at, sequence")
}

extension LoggedNotification: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<LoggedNotification>) throws(DatabaseError) -> LoggedNotification {
        let id = try column("id", of: { $0.notification.id })
        let channel = try column("channel", of: { $0.notification.channel })
        let sequence = try column("sequence", \.sequence)
        let event = try column("event", of: { $0.notification.event })
        let correlationID = try column("correlation_id", \.correlationID, as: .packedText)
        let data = try column.visit(
            "data",
            write: { record in
                let (data, id) = (record.pointee.notification.data, record.pointee.notification.id)
                return .blob(PackedData.pack(data, id: id, correlationID: record.pointee.correlationID))
            }, read: { PackedData.unpack($0.bytes($1), id: id, correlationID: correlationID) })
        let actor = try column("actor", \.actor, as: .packedWord)
        let action = try column("action", \.action, as: .packedWord)
        let createdAt = try column("created_at", of: { $0.notification.createdAt })
        let expiresAt = try column("expires_at", of: { $0.notification.expiresAt })
        // NULL is the notification's id.
        let collapseKey = try column.visit(
            "collapse_key",
            write: { record in
                let (key, id) = (record.pointee.notification.collapseKey, record.pointee.notification.id)
                return .string(key.hasSameBytes(as: id) ? nil : PackedWord.pack(key))
            }, read: { $0.optionalString($1).map(PackedWord.unpack) ?? id })
        return LoggedNotification(
            notification: Notification(
                id: id, channel: channel, event: event, data: data ?? [], createdAt: createdAt, expiresAt: expiresAt,
                collapseKey: collapseKey ?? id),
            sequence: sequence, correlationID: correlationID, actor: actor, action: action,
            readAt: try column("read_at", \.readAt))
    }
}
