import Primitives

/// Broadcasts: notifications for all drivers. There may be a hundred thousand drivers, so the push jobs of a broadcast
/// are created in slices. Its row is kept as long as its notification, because a reminder creates jobs again.
struct PushBroadcastTable {
    /// A broadcast and its progress.
    struct Broadcast {
        let notificationID: String
        /// ``Identity/key`` of the driver that the broadcast leaves out, because the same action sends this driver
        /// another notification. Nil if it leaves out none.
        let except: String?
        let entity: PushIntent.Entity?
        /// ``Identity/key`` of the last driver that has its push jobs; `driver:` at the start. The store creates jobs
        /// in the order of these keys.
        let afterOwner: String
        /// 0 for the first push, n for the n-th reminder: only those drivers get it who have neither confirmed nor
        /// acknowledged the notification.
        var round: Int64 = 0
        /// Whether its jobs are being created.
        var isExpanding = true
        fileprivate let audience: String?

        /// Whether only approved drivers get it who are online.
        var isForOnlineDrivers: Bool { audience == PushBroadcastTable.onlineAudience }

        /// Of an announcement that names many drivers, each of whom has a notification of its own: the id of the last one.
        /// `notificationID` is the first one, and ``afterOwner`` the first one that has no push jobs yet.
        var lastNamed: String? {
            guard let audience, audience.utf8.starts(with: PushBroadcastTable.namedPrefix.utf8) else { return nil }
            return String(Substring(audience.utf8.dropFirst(PushBroadcastTable.namedPrefix.utf8.count)))
        }
    }

    static let table = Table<Broadcast>("push_audiences", key: ["notification_id"])

    let database: Database

    /// Adds a broadcast.
    /// - Parameter isForOnlineDrivers: whether only approved drivers get it who are online.
    func add(_ intent: PushIntent, except: String?, isForOnlineDrivers: Bool) throws(DatabaseError) {
        // "driver:" sorts before the keys of all drivers and after those of admins and customers.
        try add(
            Broadcast(
                notificationID: intent.notificationID, except: except, entity: intent.entity, afterOwner: "driver:",
                audience: isForOnlineDrivers ? Self.onlineAudience : nil))
    }

    /// Adds the pushes of notifications with consecutive ids, each for one driver.
    func add(named first: String, upTo last: String) throws(DatabaseError) {
        try add(
            Broadcast(notificationID: first, except: nil, entity: nil, afterOwner: first, audience: Self.namedPrefix + last))
    }

    private func add(_ broadcast: Broadcast) throws(DatabaseError) {
        try database.change(Self.table.insert, Self.table.values(of: broadcast))
    }

    fileprivate static let onlineAudience = "online"
    fileprivate static let namedPrefix = "named:"

    /// At most `most` of the notifications with ids from `id` up to and including `last`.
    func named(from id: String, upTo last: String, most: Int) throws(DatabaseError) -> [LoggedNotification] {
        try database.all(
            Self.selectNamed, .string(id), .string(last), .integer(most), as: LoggedNotification.init(row:))
    }

    private static let selectNamed = SQL(
        "SELECT \(NotificationTable.columns) FROM notifications WHERE id >= ? AND id <= ? ORDER BY id LIMIT ?")

    /// Adds a reminder of a broadcast. While the jobs of its first push or of an earlier reminder are being created,
    /// nothing is added: nobody has missed them yet. If the notification was not pushed before, the reminder is for all
    /// drivers and has no entity.
    func addReminder(_ notificationID: String) throws(DatabaseError) {
        try database.change(
            """
            INSERT INTO push_audiences (notification_id, after_owner, reminder) VALUES (?, ?, 1) \
            ON CONFLICT (notification_id) DO UPDATE SET after_owner = excluded.after_owner, \
            reminder = push_audiences.reminder + 1, expanding = 1 WHERE push_audiences.expanding = 0
            """, .string(notificationID), .string("driver:"))
    }

    /// The oldest broadcast whose jobs are being created; nil if there is none.
    func first() throws(DatabaseError) -> Broadcast? {
        try database.first(Self.selectFirst, as: Broadcast.init(row:))
    }

    /// The broadcast of a notification; nil if it was not pushed to all drivers.
    func broadcast(of notificationID: String) throws(DatabaseError) -> Broadcast? {
        try database.first(Self.selectByID, .string(notificationID), as: Broadcast.init(row:))
    }

    private static let selectFirst = table.select("WHERE expanding = 1 ORDER BY notification_id LIMIT 1")
    private static let selectByID = table.select("WHERE notification_id = ?")

    /// Stores the progress of a broadcast: `owner` is the last driver that has its push jobs.
    func advance(_ id: String, to owner: String) throws(DatabaseError) {
        try database.change(
            "UPDATE push_audiences SET after_owner = ? WHERE notification_id = ?", .string(owner), .string(id))
    }

    /// Stores that all jobs of a broadcast are created.
    func complete(_ id: String) throws(DatabaseError) {
        try database.change("UPDATE push_audiences SET expanding = 0 WHERE notification_id = ?", .string(id))
    }

    /// Deletes at most `most` broadcasts of notifications created before `cutoff`.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) {
        try database.change(
            """
            DELETE FROM push_audiences WHERE notification_id IN (SELECT notification_id FROM push_audiences \
            WHERE notification_id < ? ORDER BY notification_id LIMIT ?)
            """, .string(ULID.least(at: cutoff)), .integer(most))
    }

    func remove(_ id: String) throws(DatabaseError) {
        try database.change("DELETE FROM push_audiences WHERE notification_id = ?", .string(id))
    }
}

extension PushBroadcastTable.Broadcast: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try Self(
            notificationID: column("notification_id", \.notificationID), except: column("excepted", \.except),
            entity: column("entity", \.entity), afterOwner: column("after_owner", \.afterOwner),
            round: column("reminder", \.round), isExpanding: column("expanding", \.isExpanding),
            audience: column("audience", \.audience))
    }
}
