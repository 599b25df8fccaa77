import FleetRules

/// When each notification was written to a device of its owner, and when the device confirmed it.
struct DeliveryTable {
    let database: Database

    /// A notification of a receipt, and how far the owner's devices had come with it before.
    struct Delivered {
        let logged: LoggedNotification
        let wasWritten: Bool
        let wasConfirmed: Bool

        fileprivate init(row: Row) {
            logged = LoggedNotification(row: row)
            (wasWritten, wasConfirmed) = (row.integer(12) > 0, row.integer(13) > 0)
        }
    }

    /// The notifications of a receipt that are in the log, in the order of their sequence.
    func notifications(of receipt: Receipt) throws(DatabaseError) -> [Delivered] {
        let (channel, owner) = (SQLValue.string(receipt.key.channel), SQLValue.string(receipt.key.owner))
        let (after, upTo) = (SQLValue.integer(receipt.after), SQLValue.integer(receipt.upTo))
        if receipt.key.isForEveryDriver {
            return try database.all(Self.ofEveryDriver, owner, owner, channel, after, upTo, as: Delivered.init(row:))
        }
        return try database.all(Self.ofOnePerson, channel, after, upTo, as: Delivered.init(row:))
    }

    /// A person's channel has one owner, so the notification itself has the times of its first delivery.
    private static let ofOnePerson = SQL(
        """
        SELECT \(NotificationTable.columns), CASE WHEN written_at IS NULL THEN 0 ELSE 1 END, \
        CASE WHEN confirmed_at IS NULL THEN 0 ELSE 1 END \
        FROM notifications WHERE channel = ? AND sequence > ? AND sequence <= ? ORDER BY sequence
        """)

    private static let ofEveryDriver = SQL(
        """
        SELECT \(NotificationTable.columns), \
        (SELECT COUNT(*) FROM deliveries WHERE deliveries.channel = notifications.channel \
        AND deliveries.sequence = notifications.sequence AND owner = ?), \
        (SELECT COUNT(confirmed_at) FROM deliveries WHERE deliveries.channel = notifications.channel \
        AND deliveries.sequence = notifications.sequence AND owner = ?) \
        FROM notifications WHERE channel = ? AND sequence > ? AND sequence <= ? ORDER BY sequence
        """)

    /// Whether a device of the owner has confirmed a notification.
    func isConfirmed(notificationID: String, by owner: String) throws(DatabaseError) -> Bool {
        try database.first(
            """
            SELECT 1 FROM notifications JOIN deliveries ON deliveries.channel = notifications.channel \
            AND deliveries.sequence = notifications.sequence \
            WHERE id = ? AND owner = ? AND deliveries.confirmed_at IS NOT NULL LIMIT 1
            """, .string(notificationID), .string(owner), as: { _ in true }) ?? false
    }

    /// Stores a receipt for its notifications that are in the log. Times that are stored already are kept.
    func store(_ receipt: Receipt) throws(DatabaseError) {
        let key = receipt.key
        try database.change(
            """
            INSERT INTO deliveries (channel, sequence, owner, device, written_at, confirmed_at) \
            SELECT channel, sequence, ?, ?, ?, ? FROM notifications WHERE channel = ? AND sequence > ? AND sequence <= ? \
            ON CONFLICT (channel, sequence, owner, device) DO UPDATE SET confirmed_at = excluded.confirmed_at \
            WHERE deliveries.confirmed_at IS NULL AND excluded.confirmed_at IS NOT NULL
            """, .string(key.owner), .string(key.device), .integer(receipt.writtenAt),
            receipt.confirmedAt.map { .integer($0) } ?? .null, .string(key.channel), .integer(receipt.after),
            .integer(receipt.upTo))
    }

    /// A notification's deliveries as steps of its history, in the order of their first writes, of at most `most`
    /// devices.
    func steps(of logged: LoggedNotification, most: Int) throws(DatabaseError) -> [NotificationStep] {
        let notification = logged.notification
        var steps: [NotificationStep] = []
        try database.each(
            """
            SELECT owner, device, written_at, confirmed_at FROM deliveries WHERE channel = ? AND sequence = ? \
            ORDER BY owner, device LIMIT ?
            """, .string(notification.channel), .integer(logged.sequence), .integer(most)
        ) { row in
            let owner = row.string(0)
            let device = row.string(1)
            steps.append(
                NotificationStep("written", of: notification.id, at: row.integer(2), subject: owner, device: device))
            guard let confirmedAt = row.optionalInteger(3) else { return }
            steps.append(
                NotificationStep("confirmed", of: notification.id, at: confirmedAt, subject: owner, device: device))
        }
        return steps
    }

    /// Deletes at most `most` deliveries of the notifications of a person's channel up to a sequence number.
    /// - Returns: the number of deleted deliveries.
    func remove(channel: String, upTo sequence: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            DELETE FROM deliveries WHERE (channel, sequence, owner, device) IN (SELECT channel, sequence, owner, device \
            FROM deliveries WHERE channel = ? AND sequence <= ? LIMIT ?)
            """, .string(channel), .integer(sequence), .integer(most))
    }

    /// Deletes an owner's deliveries of those notifications for all drivers that lie between two sequence numbers.
    func removeForEveryDriver(of owner: String, after: Int64, upTo last: Int64) throws(DatabaseError) {
        // By the sequence numbers in the log, because the key has them before the owner.
        let channel = SQLValue.string(FleetChannel.drivers.name)
        try database.change(
            """
            DELETE FROM deliveries WHERE channel = ? AND owner = ? \
            AND sequence IN (SELECT sequence FROM notifications WHERE channel = ? AND sequence > ? AND sequence <= ?)
            """, channel, .string(owner), channel, .integer(after), .integer(last))
    }

    // MARK: Retention

    /// Deletes at most `most` deliveries of notifications created before `cutoff`.
    /// - Returns: the number of deleted deliveries.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            DELETE FROM deliveries WHERE (channel, sequence, owner, device) IN (SELECT deliveries.channel, \
            deliveries.sequence, owner, device FROM notifications JOIN deliveries \
            ON deliveries.channel = notifications.channel AND deliveries.sequence = notifications.sequence \
            WHERE created_at < ? LIMIT ?)
            """, .integer(cutoff), .integer(most))
    }

    /// Deletes all deliveries of the notifications that ``NotificationTable/deleteExpired(before:most:)`` deletes next.
    func deleteAll(before cutoff: Int64, most: Int) throws(DatabaseError) {
        try database.change(Self.deleteOld, .integer(cutoff), .integer(most))
    }

    private static let deleteOld = SQL(
        """
        DELETE FROM deliveries WHERE (channel, sequence) IN \
        (SELECT channel, sequence FROM notifications WHERE id IN \(NotificationTable.old))
        """)
}
