/// Reads what is to be replayed.
extension NotificationTable {
    /// Which notifications of a channel are pending for an owner: those that the owner has not acknowledged by a read
    /// mark or a step, and that have not expired.
    struct Pending {
        let channel: String
        let owner: String
        /// Notifications that expire then or earlier do not count: milliseconds since 1970.
        let expiresAfter: Int64

        var isForEveryDriver: Bool { channel.hasSameBytes(as: FleetChannel.drivers.name) }
    }

    /// Two values: ``Pending/expiresAfter`` and ``Pending/owner``. On `drivers-channel` nobody sets the marks.
    private static let isPending = """
        read_at IS NULL AND seen_at IS NULL AND expires_at > ? AND NOT \(ReadMarkTable.coversNotification) AND NOT EXISTS (SELECT 1 FROM notification_steps AS step \
        WHERE step.notification_id = notifications.id AND step.step IN (\(NotificationStepTable.kinds)) AND step.subject = ?)
        """

    /// The pending notifications after a sequence number, in the order of the channel, at most `limit`.
    func next(_ pending: Pending, after: Int64, limit: Int) throws(DatabaseError) -> [ReplayedNotification] {
        try database.all(
            Self.selectPending, .string(pending.channel), .integer(after), .integer(pending.expiresAfter),
            .string(pending.owner), .integer(limit),
            as: { row throws(DatabaseError) in
                let logged = try LoggedNotification(row: row)
                return ReplayedNotification(sequence: logged.sequence, notification: logged.notification)
            })
    }

    private static let selectPending = SQL(
        """
        SELECT \(LoggedNotification.columnList) FROM notifications WHERE channel = ? AND sequence > ? AND \(isPending) \
        ORDER BY sequence LIMIT ?
        """)

    /// The sequence number of the newest pending notification after `after`, except the `count` newest; nil if there is
    /// none.
    func newest(_ pending: Pending, after: Int64, skipping count: Int) throws(DatabaseError) -> Int64? {
        try database.first(
            Self.selectNewestPending, .string(pending.channel), .integer(after), .integer(pending.expiresAfter),
            .string(pending.owner), .integer(count), as: { $0.integer(0) })
    }

    private static let selectNewestPending = SQL(
        """
        SELECT sequence FROM notifications WHERE channel = ? AND sequence > ? AND \(isPending) \
        ORDER BY sequence DESC LIMIT 1 OFFSET ?
        """)

    /// The number of pending notifications after `after`, up to and including `upTo`, and when the first and the last of
    /// them were created; nil if there are none.
    func summary(
        _ pending: Pending, after: Int64, upTo: Int64
    ) throws(DatabaseError) -> (count: Int, from: Int64, to: Int64)? {
        let summary = try database.first(
            Self.summarizePending, .string(pending.channel), .integer(after), .integer(upTo),
            .integer(pending.expiresAfter), .string(pending.owner),
            as: { (count: Int($0.integer(0)), from: $0.integer(1), to: $0.integer(2)) })
        return summary.flatMap { $0.count > 0 ? $0 : nil }
    }

    private static let summarizePending = SQL(
        """
        SELECT COUNT(*), MIN(created_at), MAX(created_at) FROM notifications \
        WHERE channel = ? AND sequence > ? AND sequence <= ? AND \(isPending)
        """)

    /// The sequence number of a channel's last notification that was created before a time; nil if there is none.
    func last(of channel: String, createdBefore time: Int64) throws(DatabaseError) -> Int64? {
        // From the end, so that only what is younger is walked: a channel has many more old notifications.
        try database.first(
            "SELECT sequence FROM notifications WHERE channel = ? AND created_at < ? ORDER BY sequence DESC LIMIT 1",
            .string(channel), .integer(time), as: { $0.integer(0) })
    }
}
