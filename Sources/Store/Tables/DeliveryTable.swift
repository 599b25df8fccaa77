import FleetRules
import JSON

/// When each notification was written to a device of its owner, and when the device confirmed it.
struct DeliveryTable {
    let database: Database

    /// A notification of a receipt, and how far the owner's devices had come with it before.
    struct Delivered {
        let notificationID: String
        let event: String
        let createdAt: Int64
        let wasWritten: Bool
        let wasConfirmed: Bool
    }

    /// The notifications of a receipt that are in the log, in the order of their sequence.
    func notifications(of receipt: Receipt) throws(DatabaseError) -> [Delivered] {
        let owner = SQLValue.string(receipt.key.owner)
        return try database.all(
            """
            SELECT id, event, created_at, \
            (SELECT COUNT(*) FROM deliveries WHERE deliveries.channel = notifications.channel \
            AND deliveries.sequence = notifications.sequence AND owner = ?), \
            (SELECT COUNT(confirmed_at) FROM deliveries WHERE deliveries.channel = notifications.channel \
            AND deliveries.sequence = notifications.sequence AND owner = ?) \
            FROM notifications WHERE channel = ? AND sequence > ? AND sequence <= ? ORDER BY sequence
            """, owner, owner, .string(receipt.key.channel), .integer(receipt.after), .integer(receipt.upTo),
            as: { row in
                Delivered(
                    notificationID: row.string(0), event: row.string(1), createdAt: row.integer(2),
                    wasWritten: row.integer(3) > 0, wasConfirmed: row.integer(4) > 0)
            })
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
            var detail = JSONWriter()
            detail.object { $0.member("device", row.string(1)) }
            steps.append(
                NotificationStep("written", of: notification.id, at: row.integer(2), subject: owner, detail: detail.bytes))
            guard let confirmedAt = row.optionalInteger(3) else { return }
            steps.append(
                NotificationStep("confirmed", of: notification.id, at: confirmedAt, subject: owner, detail: detail.bytes))
        }
        return steps
    }

    /// Deletes an owner's deliveries of a channel's notifications.
    func remove(of owner: String, channel: String) throws(DatabaseError) {
        // By the sequence numbers in the log, because the key has them before the owner.
        try database.change(
            """
            DELETE FROM deliveries WHERE channel = ? AND owner = ? \
            AND sequence IN (SELECT sequence FROM notifications WHERE channel = ?)
            """, .string(channel), .string(owner), .string(channel))
    }

    // MARK: Retention

    /// Deletes at most `most` deliveries of notifications created before `cutoff`.
    /// - Returns: the number of deleted deliveries.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.change(
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
