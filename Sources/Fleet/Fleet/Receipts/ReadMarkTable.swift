/// Inboxes that were marked as read as a whole, as far as their rows do not say so yet.
///
/// "Mark all as read" writes one row here, however many notifications are unread. From then on all of them count as
/// read: a query for a read mark looks at the row of the notification, then here. ``BackgroundTask/readMarks``
/// writes the marks into the rows, a slice at a time, and deletes the row here when it is done.
struct ReadMarkTable {
    /// An inbox that was marked as read up to a notification.
    struct Mark {
        /// The person's own channel.
        let channel: String
        /// The last sequence number of the channel that is read.
        let sequence: Int64
        /// The id of the last notification in the inbox of a customer that is on another channel; empty if there is none.
        let entry: String
        /// ``Identity/key``
        let recipient: String
        /// Milliseconds since 1970.
        let readAt: Int64
        /// The rows of the channel up to this sequence number have their marks.
        let writtenTo: Int64
    }

    /// The most rows of one inbox. If there are more, the newest row takes what follows: it was marked a moment later.
    static let perInboxMax = 8

    /// An SQL condition: a row of `notifications` is marked here.
    static let coversNotification = """
        EXISTS (SELECT 1 FROM read_marks AS mark WHERE mark.channel = notifications.channel \
        AND mark.sequence >= notifications.sequence)
        """
    /// An SQL condition: a row of `inbox_entries`, whose alias is `entry`, is marked here.
    static let coversEntry = """
        EXISTS (SELECT 1 FROM read_marks AS mark WHERE mark.recipient = entry.recipient \
        AND mark.entry >= entry.notification_id)
        """

    /// An SQL expression: a column of `notifications`, or the time of the mark here if the column is null.
    static func time(orMarkOf column: String) -> String {
        """
        COALESCE(notifications.\(column), (SELECT MIN(mark.read_at) FROM read_marks AS mark \
        WHERE mark.channel = notifications.channel AND mark.sequence >= notifications.sequence))
        """
    }

    /// An SQL expression: when a row of `inbox_entries`, whose alias is `entry`, was marked as read.
    static let entryReadAt = """
        COALESCE(entry.read_at, (SELECT MIN(mark.read_at) FROM read_marks AS mark \
        WHERE mark.recipient = entry.recipient AND mark.entry >= entry.notification_id))
        """

    static let table = Table<Mark>("read_marks", key: ["channel", "sequence", "entry"])

    let database: Database

    func add(_ mark: Mark) throws(DatabaseError) {
        let count =
            try database.first(
                "SELECT COUNT(*) FROM read_marks WHERE channel = ?", .string(mark.channel), as: { $0.integer(0) }) ?? 0
        if count >= Self.perInboxMax {
            return try database.change(
                """
                UPDATE read_marks SET sequence = ?, entry = ? WHERE channel = ? AND (sequence, entry) IN (SELECT sequence, entry \
                FROM read_marks WHERE channel = ? ORDER BY sequence DESC, entry DESC LIMIT 1)
                """, .integer(mark.sequence), .string(mark.entry), .string(mark.channel), .string(mark.channel))
        }
        try database.change(Self.table.insertNew, Self.table.values(of: mark))
    }

    /// The oldest mark; nil if all rows have their marks.
    func first() throws(DatabaseError) -> Mark? { try database.first(Self.selectFirst, as: Mark.init(row:)) }

    private static let selectFirst = table.select("ORDER BY read_at, channel, sequence, entry LIMIT 1")

    /// Stores that the rows of the channel up to a sequence number have their marks.
    func advance(_ mark: Mark, to sequence: Int64) throws(DatabaseError) {
        try database.change(
            "UPDATE read_marks SET written_to = ? WHERE channel = ? AND sequence = ? AND entry = ?", .integer(sequence),
            .string(mark.channel), .integer(mark.sequence), .string(mark.entry))
    }

    func remove(_ mark: Mark) throws(DatabaseError) {
        try database.change(
            "DELETE FROM read_marks WHERE channel = ? AND sequence = ? AND entry = ?", .string(mark.channel),
            .integer(mark.sequence), .string(mark.entry))
    }

    /// Whether an entry of an inbox is marked here.
    func covers(entry id: String, of recipient: String) throws(DatabaseError) -> Bool {
        try database.first(
            "SELECT 1 FROM read_marks WHERE recipient = ? AND entry >= ? LIMIT 1", .string(recipient), .string(id),
            as: { _ in true }) ?? false
    }
}

extension ReadMarkTable.Mark: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try Self(
            channel: column("channel", \.channel), sequence: column("sequence", \.sequence), entry: column("entry", \.entry),
            recipient: column("recipient", \.recipient), readAt: column("read_at", \.readAt),
            writtenTo: column("written_to", \.writtenTo))
    }
}
