/// The last number that each channel's notifications got, and how many of them are unread.
struct ChannelSequenceTable {
    private let advance: Statement
    private let selectUnread: Statement
    private let updateUnread: Statement
    private let deleteOld: Statement

    init(_ database: Database) throws(DatabaseError) {
        advance = try Statement(
            """
            INSERT INTO channel_sequences (channel, last, passing, used_at, unread) VALUES (?, 1, ?, ?, 1) \
            ON CONFLICT (channel) DO UPDATE SET last = channel_sequences.last + 1, used_at = excluded.used_at, \
            unread = channel_sequences.unread + 1 RETURNING last
            """, on: database)
        selectUnread = try Statement("SELECT unread FROM channel_sequences WHERE channel = ?", on: database)
        updateUnread = try Statement(
            "UPDATE channel_sequences SET unread = unread - ? WHERE channel = ?", on: database)
        deleteOld = try Statement(
            """
            DELETE FROM channel_sequences WHERE channel IN (SELECT channel FROM channel_sequences WHERE passing = 1 \
            AND used_at < ? ORDER BY used_at LIMIT ?)
            """, on: database)
    }

    /// The number of the channel's next notification, which is unread: 1 for the first.
    func next(channel: String, now: Int64) throws(DatabaseError) -> Int64 {
        let passing = channel.hasPrefix("booking-") || channel.hasPrefix("tracking-")
        let last = try advance.first(.string(channel), .integer(passing ? 1 : 0), .integer(now)) { row throws(DatabaseError) in
            row.integer(0)
        }
        guard let last else { throw .misread("the number just given", doing: advance.sql) }
        return last
    }

    /// How many of a channel's notifications are neither read nor acted upon by whose channel it is.
    func unread(channel: String) throws(DatabaseError) -> Int {
        Int(try selectUnread.first(.string(channel)) { row throws(DatabaseError) in row.integer(0) } ?? 0)
    }

    /// So many of them are that no more, or are gone.
    func countDown(_ count: Int, channel: String) throws(DatabaseError) {
        if count > 0 { try updateUnread.run(.integer(count), .string(channel)) }
    }

    /// Forgets channels of bookings not used since `cutoff`. It must lie well before that of the notifications: a
    /// channel that is used again then begins at 1, and no row may be left that had the number.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try deleteOld.change(.integer(cutoff), .integer(most))
    }
}
