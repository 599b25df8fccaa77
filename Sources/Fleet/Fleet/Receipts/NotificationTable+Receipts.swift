import Primitives

/// How far notifications have come, and which of them nobody has confirmed.
extension NotificationTable {
    // MARK: Marks

    /// Records when the notifications of a receipt were first written and confirmed, and on a person's channel by which
    /// device, if it is the first. (``ReceiptTable`` has the others.)
    func markDelivered(_ receipt: Receipt) throws(DatabaseError) {
        let confirmedAt = receipt.confirmedAt.map { SQLValue.integer($0) } ?? .null
        let isOwn = ReceiptTable.stored(owner: receipt.key.owner, on: receipt.key.channel).isEmpty
        try database.change(
            """
            UPDATE notifications SET device = CASE WHEN written_at IS NULL THEN ? ELSE device END, \
            written_at = COALESCE(written_at, ?), confirmed_at = COALESCE(confirmed_at, ?), \
            unconfirmed = CASE WHEN CAST(? AS BIGINT) IS NULL THEN unconfirmed ELSE 0 END \
            WHERE channel = ? AND sequence > ? AND sequence <= ? \
            AND (written_at IS NULL OR confirmed_at IS NULL AND CAST(? AS BIGINT) IS NOT NULL)
            """, isOwn ? .blob(PackedText.pack(receipt.key.device)) : .null, .integer(receipt.writtenAt),
            confirmedAt, confirmedAt, .string(receipt.key.channel),
            .integer(receipt.after), .integer(receipt.upTo), confirmedAt)
    }

    /// An SQL condition: a row of `notifications` is acknowledged.
    static let isAcknowledged = "(notifications.acknowledged_at IS NOT NULL OR \(ReadMarkTable.coversNotification))"

    /// Records the first acknowledgement of a notification by an owner of its channel.
    /// - Returns: false if it was acknowledged before.
    func markAcknowledged(_ id: String, now: Int64) throws(DatabaseError) -> Bool {
        try database.changeCountingRows(Self.acknowledge, .integer(now), .string(id)) > 0
    }

    private static let acknowledge = SQL(
        """
        UPDATE notifications SET acknowledged_at = ?, unconfirmed = 0 WHERE id = ? AND acknowledged_at IS NULL \
        AND NOT \(ReadMarkTable.coversNotification)
        """)

    // MARK: Reports

    static let selectReport = "SELECT \(columns), \(ReceiptTimes.columnList) FROM notifications"

    /// Nil if the notification is not in the log.
    func report(id: String, now: Int64) throws(DatabaseError) -> NotificationReport? {
        try database.first(
            Self.selectReportByID, .string(id), as: { row throws(DatabaseError) in try NotificationReport(row: row, now: now) })
    }

    private static let selectReportByID = SQL("\(selectReport) WHERE id = ?")

    /// The place of a notification in the log and in its channel.
    struct Position {
        let id: String
        let sequence: Int64

        /// Behind all notifications. A ULID consists of digits and capitals, which all sort before a tilde.
        static let end = Position(id: "~", sequence: .max)
    }

    // MARK: What is not confirmed

    /// The number of unconfirmed notifications that were created between two times.
    func unconfirmedCount(createdAfter start: Int64, until end: Int64, now: Int64) throws(DatabaseError) -> Int {
        Int(
            try database.first(
                Self.countUnconfirmed, .integer(now), .integer(start), .integer(end), as: { $0.integer(0) }) ?? 0)
    }

    private static let countUnconfirmed = SQL(
        """
        SELECT COUNT(*) FROM notifications WHERE unconfirmed = 1 AND expires_at > ? AND created_at + 0 > ? \
        AND created_at + 0 <= ? AND NOT \(ReadMarkTable.coversNotification)
        """)

    /// The ids of the notifications after `id` that were created at `time` or before, in commit order, at most `most`.
    func ids(after id: String, createdUntil time: Int64, most: Int) throws(DatabaseError) -> [String] {
        try database.all(
            "SELECT id FROM notifications WHERE id > ? AND created_at + 0 <= ? ORDER BY id LIMIT ?", .string(id),
            .integer(time), .integer(most), as: { $0.string(0) })
    }

    /// The notifications for single drivers between two ids that nobody has confirmed or acknowledged.
    func unconfirmedOfDrivers(
        after id: String, upTo last: String, createdAfter time: Int64
    ) throws(DatabaseError) -> [LoggedNotification] {
        try database.all(
            Self.selectUnconfirmedOfDrivers, .string(id), .string(last), .integer(time), as: LoggedNotification.init(row:))
    }

    private static let selectUnconfirmedOfDrivers = SQL(
        """
        SELECT \(columns) FROM notifications WHERE id > ? AND id <= ? AND created_at + 0 > ? AND unconfirmed = 1 \
        AND NOT \(ReadMarkTable.coversNotification) \
        AND COALESCE(channel, '') > 'driver-' AND COALESCE(channel, '') < 'driver.' ORDER BY id
        """)

    // MARK: Figures

    /// What became of the notifications created after a time that are for one person or for all drivers, as far as they
    /// are counted.
    struct FiguresCount {
        fileprivate var figures = ReceiptFigures()
        /// From creation to first confirmation, in milliseconds.
        fileprivate var times: [Int64] = []
        /// The id of the last notification that is counted.
        fileprivate var position: String

        /// By id, which begins with the time: the rows of an hour lie together.
        init(createdAfter start: Int64) { position = ULID.least(at: start) }
    }

    /// Counts at most `most` further notifications.
    /// - Returns: the figures, if no further notification is left; `unconfirmed` is not set.
    func count(_ count: inout FiguresCount, most: Int) throws(DatabaseError) -> ReceiptFigures? {
        let before = count.figures.created
        try database.each(Self.selectFigures, .string(count.position), .integer(most)) { row throws(DatabaseError) in
            let times = try ReceiptTimes(row: row, at: 3)
            count.position = row.string(0)
            count.figures.created += 1
            if times.writtenAt != nil { count.figures.written += 1 }
            if let confirmedAt = times.confirmedAt {
                count.figures.confirmed += 1
                count.times.append(max(0, confirmedAt - row.integer(1)))
            }
            if times.acknowledgedAt != nil { count.figures.acknowledged += 1 }
            if row.integer(2) > 0 { count.figures.pushed += 1 }
        }
        if count.figures.created - before == most { return nil }
        count.figures.setPercentiles(of: count.times)
        return count.figures
    }

    private static let selectFigures = SQL(
        """
        SELECT id, created_at, CASE WHEN EXISTS (SELECT 1 FROM push_jobs \
        WHERE notification_id = notifications.id AND state = 'accepted') \
        OR EXISTS (SELECT 1 FROM push_outcomes AS outcome WHERE outcome.number = notifications.number \
        AND \(PushOutcomeTable.isAccepted)) THEN 1 ELSE 0 END, \(ReceiptTimes.columnList) FROM notifications \
        WHERE id > ? AND COALESCE(channel, '') > 'customer-' AND COALESCE(channel, '') < 'drivers-d' ORDER BY id LIMIT ?
        """)
}

extension NotificationReport {
    /// - Parameter row: of ``NotificationTable/selectReport``.
    init(row: Row, now: Int64) throws(DatabaseError) {
        self.init(
            try LoggedNotification(row: row), try ReceiptTimes(row: row, at: NotificationTable.table.end), now: now)
    }
}

extension ReceiptTimes: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<ReceiptTimes>) throws(DatabaseError) -> ReceiptTimes {
        try ReceiptTimes(
            writtenAt: column("written_at", \.writtenAt), confirmedAt: column("confirmed_at", \.confirmedAt),
            acknowledgedAt: column(ReadMarkTable.time(orMarkOf: "acknowledged_at"), \.acknowledgedAt))
    }
}
