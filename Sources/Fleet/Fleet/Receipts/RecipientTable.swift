import Access

/// The drivers who are to get a notification for all drivers, and how far it has come with each of them.
struct RecipientTable {
    let database: Database

    /// Those who had subscribed to the channel in the time before the notification, to whom it was written, or who have a
    /// push device, by their ids.
    /// - Parameter backlog: the length of that time, in milliseconds. It is exact to the hour, like the cursors' times.
    func recipients(of logged: LoggedNotification, backlog: Int64) throws(DatabaseError) -> [NotificationRecipient] {
        let notification = logged.notification
        let id = SQLValue.string(notification.id)
        return try database.all(
            Self.select, .string(notification.channel), .integer(notification.createdAt),
            .integer(notification.createdAt - backlog), id, id, id, id,
            as: { NotificationRecipient(row: $0, notification) }
        ).compactMap { $0 }
    }

    // ';' follows ':' in ASCII, so the range contains exactly the keys of drivers.
    private static let select = SQL(
        """
        WITH recipients AS (SELECT owner FROM cursors WHERE channel = ? AND created_at <= ? AND updated_at >= ? \
        UNION SELECT owner FROM deliveries WHERE number = (SELECT number FROM notifications WHERE id = ?) \
        UNION SELECT owner FROM devices WHERE owner > 'driver:' AND owner < 'driver;') \
        SELECT owner, (SELECT MIN(at) FROM notification_steps \
        WHERE notification_id = ? AND step IN (\(NotificationStepTable.kinds)) AND subject = recipients.owner), \
        (SELECT MIN(confirmed_at) FROM deliveries \
        WHERE number = (SELECT number FROM notifications WHERE id = ?) AND deliveries.owner = recipients.owner), \
        (SELECT MIN(written_at) FROM deliveries \
        WHERE number = (SELECT number FROM notifications WHERE id = ?) AND deliveries.owner = recipients.owner) \
        FROM recipients ORDER BY owner
        """)

    /// Whether a driver has confirmed or acknowledged the notification.
    func isConfirmed(_ logged: LoggedNotification, by owner: String) throws(DatabaseError) -> Bool {
        try database.first(
            Self.confirms, .string(logged.notification.id), .string(owner), .string(logged.notification.id), .string(owner),
            as: { $0.integer(0) > 0 }) ?? false
    }

    private static let confirms = SQL(
        """
        SELECT CASE WHEN EXISTS (SELECT 1 FROM deliveries \
        WHERE number = (SELECT number FROM notifications WHERE id = ?) AND owner = ? \
        AND confirmed_at IS NOT NULL) OR EXISTS (SELECT 1 FROM notification_steps WHERE notification_id = ? \
        AND step IN (\(NotificationStepTable.kinds)) AND subject = ?) THEN 1 ELSE 0 END
        """)

    /// The number of drivers who have neither confirmed nor acknowledged the notification, and who have a device in one
    /// of the lanes that was seen at `time` or later.
    /// - Parameter except: ``Identity/key`` of a driver who does not count; nil: all do.
    func reachableCount(
        unconfirmed logged: LoggedNotification, except: String?, since time: Int64, _ lanes: Set<PushLane>
    ) throws(DatabaseError) -> Int {
        let enabled = PushLane.allCases.map { SQLValue.integer(lanes.contains($0) ? 1 : 0) }
        let count = try database.first(
            Self.countReachable, .integer(time), .string(except ?? ""), enabled[0], enabled[1], enabled[2],
            .string(logged.notification.id), .string(logged.notification.id), as: { $0.integer(0) })
        return Int(count ?? 0)
    }

    // Those who have confirmed are collected first: looking for each driver's confirmation takes three times as long.
    private static let countReachable = SQL(
        """
        SELECT COUNT(DISTINCT owner) FROM devices WHERE owner > 'driver:' AND owner < 'driver;' AND last_seen_at >= ? \
        AND owner <> ? AND (\(PushLane.allCases.map { "? = 1 AND \(DeviceTable.condition(of: $0))" }.joined(separator: " OR "))) \
        AND owner NOT IN (SELECT owner FROM deliveries \
        WHERE number = (SELECT number FROM notifications WHERE id = ?) AND confirmed_at IS NOT NULL \
        UNION ALL SELECT subject FROM notification_steps WHERE notification_id = ? \
        AND step IN (\(NotificationStepTable.kinds)))
        """)
}

extension NotificationRecipient {
    /// Nil if the row's owner is no driver.
    fileprivate init?(row: Row, _ notification: Notification) {
        guard let driver = Identity(key: row.string(0)), driver.role == .driver else { return nil }
        let stages: [(ReceiptState, Int64?)] = [
            (.acknowledged, row.optionalInteger(1)), (.confirmed, row.optionalInteger(2)),
            (.written, row.optionalInteger(3)),
        ]
        let reached = stages.lazy.compactMap { state, at in at.map { (state, $0) } }.first
        let (state, at) = reached ?? (.created, notification.createdAt)
        self.init(driverID: driver.id, state: state, at: at)
    }
}
