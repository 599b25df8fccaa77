import FleetRules

/// A notification in the log: what was decided, and where in its channel it stands.
package struct LoggedNotification: Equatable, Sendable {
    package let notification: Notification
    /// 1, 2, 3… within its channel, in the order of the commits.
    package let sequence: Int64
    package let correlationID: String
    /// ``Identity/key`` of whoever caused it.
    package let actor: String
    package let action: String
    package let readAt: Int64?
}

/// The log of notifications: what confirmation, replay and push stand on.
struct NotificationTable {
    private static let columns = """
        id, channel, sequence, event, data, correlation_id, actor, action, created_at, expires_at, collapse_key, read_at
        """
    /// Every sequence is below it.
    private static let end = Int64.max

    private let database: Database
    private let insert: Statement
    private let selectID: Statement
    private let selectChannelOf: Statement
    private let selectChannel: Statement
    private let selectAll: Statement
    private let markOne: Statement
    private let markAll: Statement
    private let markSeen: Statement
    private let deleteOld: Statement
    private let deleteSteps: Statement
    private let selectSome: Statement
    private let updateData: Statement

    init(_ database: Database) throws(DatabaseError) {
        self.database = database
        let select = "SELECT \(Self.columns) FROM notifications"
        let mark = "UPDATE notifications SET read_at = ? WHERE channel = ? AND read_at IS NULL"
        // Columns as they are, for SQLite 3.40 answers "RETURNING seen_at IS NULL" wrongly where another column is NOT NULL.
        let old = "(SELECT id FROM notifications WHERE created_at < ? ORDER BY created_at, id LIMIT ?)"
        insert = try Statement(
            "INSERT INTO notifications (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)", on: database)
        selectID = try Statement("\(select) WHERE id = ?", on: database)
        selectChannelOf = try Statement("SELECT channel FROM notifications WHERE id = ?", on: database)
        selectChannel = try Statement(
            "\(select) WHERE channel = ? AND sequence < ? ORDER BY sequence DESC LIMIT ?", on: database)
        // By id: it begins with the time, and the tie between two of one millisecond is broken the same every time.
        selectAll = try Statement("\(select) WHERE id < ? ORDER BY id DESC LIMIT ?", on: database)
        markOne = try Statement("\(mark) AND id = ? RETURNING seen_at", on: database)
        markAll = try Statement("\(mark) RETURNING seen_at", on: database)
        markSeen = try Statement(
            "UPDATE notifications SET seen_at = ? WHERE id = ? AND channel = ? AND seen_at IS NULL RETURNING read_at",
            on: database)
        deleteSteps = try Statement("DELETE FROM notification_steps WHERE notification_id IN \(old)", on: database)
        deleteOld = try Statement(
            "DELETE FROM notifications WHERE id IN \(old) RETURNING channel, read_at, seen_at", on: database)
        selectSome = try Statement(
            "SELECT id, channel, actor, data FROM notifications WHERE id > ? AND id <= ? ORDER BY id LIMIT ?", on: database)
        updateData = try Statement("UPDATE notifications SET data = ? WHERE id = ?", on: database)
    }

    /// The greatest there is; nil when there is none.
    func lastID() throws(DatabaseError) -> String? { try Statement.lastID(of: "notifications", on: database) }

    func append(_ logged: LoggedNotification) throws(DatabaseError) {
        let notification = logged.notification
        try insert.run(
            .string(notification.id), .string(notification.channel), .integer(logged.sequence), .string(notification.event),
            .utf8(notification.data), .string(logged.correlationID), .string(logged.actor), .string(logged.action),
            .integer(notification.createdAt), .integer(notification.expiresAt), .string(notification.collapseKey))
    }

    func notification(id: String) throws(DatabaseError) -> LoggedNotification? {
        try selectID.first(.string(id)) { row throws(DatabaseError) in Self.logged(row) }
    }

    /// Where a notification was said; nil when it is not in the log.
    func channel(of id: String) throws(DatabaseError) -> String? {
        try selectChannelOf.first(.string(id)) { row throws(DatabaseError) in row.string(0) }
    }

    /// The newest of a channel before `sequence`, newest first; nil: the newest of all.
    func newest(channel: String, before sequence: Int64?, limit: Int) throws(DatabaseError) -> [LoggedNotification] {
        try selectChannel.all(.string(channel), .integer(sequence ?? Self.end), .integer(limit)) { row throws(DatabaseError) in
            Self.logged(row)
        }
    }

    /// The newest of all before `id`, newest first; nil: the newest there are.
    func newest(before id: String?, limit: Int) throws(DatabaseError) -> [LoggedNotification] {
        // A ULID consists of digits and capitals, which all stand before a tilde.
        try selectAll.all(.string(id ?? "~"), .integer(limit)) { row throws(DatabaseError) in Self.logged(row) }
    }

    // MARK: Reading

    /// What became of notifications: how many there were, and how many of them had been unread until then.
    struct Change {
        var count = 0
        var unread = 0

        mutating func add(wasUnread: Bool) {
            count += 1
            if wasUnread { unread += 1 }
        }
    }

    /// Marks what of `ids` is in the channel and has no read mark, nil: all of it.
    func markRead(_ ids: [String]?, channel: String, now: Int64) throws(DatabaseError) -> Change {
        var change = Change()
        let note: (Row) throws(DatabaseError) -> Void = { row throws(DatabaseError) in change.add(wasUnread: row.isNull(0)) }
        guard let ids else {
            try markAll.each(.integer(now), .string(channel), body: note)
            return change
        }
        for id in ids { try markOne.each(.integer(now), .string(channel), .string(id), body: note) }
        return change
    }

    /// Notes that whose channel it is has acted on one of its notifications; whether it had been unread until then.
    func markSeen(_ id: String, channel: String, now: Int64) throws(DatabaseError) -> Bool {
        try markSeen.first(.integer(now), .string(id), .string(channel)) { row throws(DatabaseError) in
            row.isNull(0)
        } ?? false
    }

    // MARK: Going through all

    /// What tells whom a notification concerns.
    struct RedactionRow {
        let id: String
        let channel: String
        let actor: String
        let data: [UInt8]
    }

    /// Some of those behind one id, up to another, in their order.
    func rowsToRedact(after: String, upTo last: String, most: Int) throws(DatabaseError) -> [RedactionRow] {
        try selectSome.all(.string(after), .string(last), .integer(most)) { row throws(DatabaseError) in
            RedactionRow(id: row.string(0), channel: row.string(1), actor: row.string(2), data: row.bytes(3))
        }
    }

    func replaceData(of id: String, by data: [UInt8]) throws(DatabaseError) { try updateData.run(.utf8(data), .string(id)) }

    // MARK: Forgetting

    /// Forgets the oldest of those made before `cutoff` and what became of them; answers how many notifications, by channel.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> [String: Change] {
        try deleteSteps.run(.integer(cutoff), .integer(most))
        var changes: [String: Change] = [:]
        try deleteOld.each(.integer(cutoff), .integer(most)) { row throws(DatabaseError) in
            changes[row.string(0), default: Change()].add(wasUnread: row.isNull(1) && row.isNull(2))
        }
        return changes
    }

    private static func logged(_ row: Row) -> LoggedNotification {
        LoggedNotification(
            notification: Notification(
                id: row.string(0), channel: row.string(1), event: row.string(3), data: row.bytes(4),
                createdAt: row.integer(8), expiresAt: row.integer(9), collapseKey: row.string(10)),
            sequence: row.integer(2), correlationID: row.string(5), actor: row.string(6), action: row.string(7),
            readAt: row.optionalInteger(11))
    }
}
