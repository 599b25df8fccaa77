import Access
import Primitives

/// When each notification was written to a device of its owner, and when the device confirmed it. A row has the number of
/// its notification, and no owner if that is the owner of the person's channel that the notification is on.
///
/// Most people have one device. So the first delivery on a person's channel is in the notification's own row
/// (``NotificationTable/markDelivered(_:)``), which has its times anyway, until there is another one.
struct ReceiptTable {
    let database: Database

    /// A notification of a receipt, and how far the owner's devices had come with it before.
    struct Delivered {
        let logged: LoggedNotification
        let wasWritten: Bool
        let wasConfirmed: Bool
        /// The device that alone has got it, in packed form.
        fileprivate let onlyDevice: [UInt8]?

        fileprivate init(row: Row) throws(DatabaseError) {
            let end = NotificationTable.table.end
            logged = try LoggedNotification(row: row)
            (wasWritten, wasConfirmed) = (row.integer(end) > 0, row.integer(end + 1) > 0)
            onlyDevice = row.optionalBytes(end + 2)
        }
    }

    /// The column `owner` of deliveries on a channel.
    static func stored(owner: String, on channel: String) -> String {
        Identity(key: owner).map { $0.channel.hasSameBytes(as: channel) } ?? false ? "" : owner
    }

    /// The owner of a person's channel: of `driver-42`, `driver:42`.
    static func owner(of channel: String) -> String {
        guard let hyphen = channel.utf8.firstIndex(of: UInt8(ascii: "-")) else { return channel }
        return "\(channel[..<hyphen]):\(channel[channel.utf8.index(after: hyphen)...])"
    }

    /// A person's own channel; empty if the owner is no person.
    static func channel(of owner: String) -> String { Identity(key: owner)?.channel ?? "" }

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
        CASE WHEN confirmed_at IS NULL THEN 0 ELSE 1 END, device \
        FROM notifications WHERE channel = ? AND sequence > ? AND sequence <= ? ORDER BY sequence
        """)

    private static let ofEveryDriver = SQL(
        """
        SELECT \(NotificationTable.columns), \
        (SELECT COUNT(*) FROM deliveries WHERE deliveries.number = notifications.number AND owner = ?), \
        (SELECT COUNT(confirmed_at) FROM deliveries WHERE deliveries.number = notifications.number AND owner = ?), NULL \
        FROM notifications WHERE channel = ? AND sequence > ? AND sequence <= ? ORDER BY sequence
        """)

    /// Whether a device of the owner has confirmed a notification.
    func isConfirmed(notificationID: String, by owner: String) throws(DatabaseError) -> Bool {
        try database.first(
            Self.confirms, .string(notificationID), .string(Self.channel(of: owner)), .string(owner), as: { _ in true }) ?? false
    }

    // A person's own channel has no other owner.
    private static let confirms = SQL(
        """
        SELECT 1 FROM notifications WHERE id = ? AND (channel = ? AND confirmed_at IS NOT NULL OR EXISTS (SELECT 1 \
        FROM deliveries WHERE deliveries.number = notifications.number AND owner = ? AND deliveries.confirmed_at IS NOT NULL))
        """)

    /// Stores a receipt for its notifications that are in the log. Times that are stored already are kept. Call
    /// ``NotificationTable/markDelivered(_:)`` next.
    /// - Parameter delivered: what ``notifications(of:)`` has returned.
    func store(_ receipt: Receipt, _ delivered: [Delivered]) throws(DatabaseError) {
        let key = receipt.key
        guard Self.stored(owner: key.owner, on: key.channel).isEmpty else { return try storeRows(receipt) }
        let device = PackedText.pack(key.device)
        // The notifications' own rows take it.
        if delivered.allSatisfy({ !$0.wasWritten || $0.onlyDevice == device }) { return }
        if delivered.contains(where: { $0.onlyDevice != nil && $0.onlyDevice != device }) {
            try moveOnlyDeliveries(receipt, besides: device)
        }
        try storeRows(receipt)
    }

    /// Gives the deliveries to only one device rows of their own, because there is another one now.
    private func moveOnlyDeliveries(_ receipt: Receipt, besides device: [UInt8]) throws(DatabaseError) {
        let range: [SQLValue] = [
            .string(receipt.key.channel), .integer(receipt.after), .integer(receipt.upTo), .blob(device),
        ]
        try database.change(Self.copyOnlyDeliveries, range)
        try database.change(Self.forgetOnlyDevices, range)
    }

    private static let haveOnlyAnother =
        "WHERE channel = ? AND sequence > ? AND sequence <= ? AND device IS NOT NULL AND device <> ?"
    private static let copyOnlyDeliveries = SQL(
        """
        INSERT INTO deliveries (number, owner, device, written_at, confirmed_at) \
        SELECT number, '', device, written_at, confirmed_at FROM notifications \(haveOnlyAnother)
        """)
    private static let forgetOnlyDevices = SQL("UPDATE notifications SET device = NULL \(haveOnlyAnother)")

    /// Of a person's channel, only for notifications that have been written to another device before.
    private func storeRows(_ receipt: Receipt) throws(DatabaseError) {
        let key = receipt.key
        let owner = Self.stored(owner: key.owner, on: key.channel)
        try database.change(
            """
            INSERT INTO deliveries (number, owner, device, written_at, confirmed_at) \
            SELECT number, ?, ?, ?, ? FROM notifications WHERE channel = ? AND sequence > ? AND sequence <= ? \
            AND (CAST(? AS BIGINT) = 0 OR written_at IS NOT NULL AND notifications.device IS NULL) \
            ON CONFLICT (number, owner, device) DO UPDATE SET confirmed_at = excluded.confirmed_at \
            WHERE deliveries.confirmed_at IS NULL AND excluded.confirmed_at IS NOT NULL
            """, .string(owner), .blob(PackedText.pack(key.device)), .integer(receipt.writtenAt),
            receipt.confirmedAt.map { .integer($0) } ?? .null, .string(key.channel), .integer(receipt.after),
            .integer(receipt.upTo), .flag(owner.isEmpty))
    }

    /// A notification's deliveries as steps of its history, in the order of their first writes, of at most `most`
    /// devices.
    func steps(of logged: LoggedNotification, most: Int) throws(DatabaseError) -> [NotificationStep] {
        let notification = logged.notification
        var steps: [NotificationStep] = []
        try database.each(
            """
            SELECT '' AS owner, device, written_at, confirmed_at FROM notifications WHERE id = ? AND device IS NOT NULL \
            UNION ALL SELECT owner, deliveries.device, deliveries.written_at, deliveries.confirmed_at FROM deliveries \
            JOIN notifications ON notifications.number = deliveries.number WHERE id = ? ORDER BY owner, device LIMIT ?
            """, .string(notification.id), .string(notification.id), .integer(most)
        ) { row in
            let stored = row.string(0)
            let owner = stored.isEmpty ? Self.owner(of: notification.channel) : stored
            let device = PackedText.unpack(row.bytes(1))
            steps.append(
                NotificationStep("written", of: notification.id, at: row.integer(2), subject: owner, device: device))
            guard let confirmedAt = row.optionalInteger(3) else { return }
            steps.append(
                NotificationStep("confirmed", of: notification.id, at: confirmedAt, subject: owner, device: device))
        }
        return steps
    }

    // MARK: Erasure

    /// Deletes at most `most` deliveries of those notifications of a channel that lie between two sequence numbers.
    /// - Parameter owner: the deliveries to this person.
    /// - Returns: the number of deleted deliveries, without those in the notifications' own rows.
    func remove(
        channel: String, of owner: String, after: Int64, upTo last: Int64, most: Int
    ) throws(DatabaseError) -> Int {
        try database.change(
            "UPDATE notifications SET device = NULL WHERE channel = ? AND sequence > ? AND sequence <= ? AND device IS NOT NULL",
            .string(channel), .integer(after), .integer(last))
        return try database.changeCountingRows(
            """
            DELETE FROM deliveries WHERE (number, owner, device) IN (SELECT deliveries.number, owner, deliveries.device \
            FROM notifications JOIN deliveries ON deliveries.number = notifications.number \
            WHERE channel = ? AND sequence > ? AND sequence <= ? AND owner = ? LIMIT ?)
            """, .string(channel), .integer(after), .integer(last), .string(Self.stored(owner: owner, on: channel)),
            .integer(most))
    }

    // MARK: Retention

    /// Deletes at most `most` deliveries of the notifications before a number.
    /// - Returns: the number of deleted deliveries.
    func deleteExpired(beforeNumber end: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            DELETE FROM deliveries WHERE (number, owner, device) IN (SELECT number, owner, device FROM deliveries \
            WHERE number < ? ORDER BY number LIMIT ?)
            """, .integer(end), .integer(most))
    }

    /// Deletes at most `most` deliveries of a channel's notifications from a sequence number up to another one.
    /// - Returns: the number of deleted deliveries.
    func deleteAll(channel: String, after: Int64, upTo last: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            DELETE FROM deliveries WHERE (number, owner, device) IN (SELECT deliveries.number, owner, deliveries.device \
            FROM notifications JOIN deliveries ON deliveries.number = notifications.number \
            WHERE channel = ? AND sequence > ? AND sequence <= ? LIMIT ?)
            """, .string(channel), .integer(after), .integer(last), .integer(most))
    }
}
