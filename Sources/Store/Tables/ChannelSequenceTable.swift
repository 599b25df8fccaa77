/// The last sequence number of each channel, and its number of unread notifications.
struct ChannelSequenceTable {
    let database: Database

    /// Advances a channel's sequence and counts the new notification as unread.
    /// - Returns: the sequence number of the new notification; 1 for the first.
    func next(channel: String, now: Int64) throws(DatabaseError) -> Int64 {
        let passing = channel.hasPrefix("booking-") || channel.hasPrefix("tracking-")
        let last = try database.first(
            """
            INSERT INTO channel_sequences (channel, last, passing, used_at, unread) VALUES (?, 1, ?, ?, 1) \
            ON CONFLICT (channel) DO UPDATE SET last = channel_sequences.last + 1, used_at = excluded.used_at, \
            unread = channel_sequences.unread + 1 RETURNING last
            """, .string(channel), .integer(passing ? 1 : 0), .integer(now), as: { $0.integer(0) })
        guard let last else { throw .misread("the new sequence number", doing: "advancing a channel's sequence") }
        return last
    }

    /// The number of notifications of a channel that its owner has neither read nor acted upon.
    func unread(channel: String) throws(DatabaseError) -> Int {
        Int(
            try database.first(
                "SELECT unread FROM channel_sequences WHERE channel = ?", .string(channel), as: { $0.integer(0) }) ?? 0)
    }

    /// Reduces the unread count: `count` notifications were read, acted upon or deleted.
    func countDown(_ count: Int, channel: String) throws(DatabaseError) {
        guard count > 0 else { return }
        try database.change(
            "UPDATE channel_sequences SET unread = unread - ? WHERE channel = ?", .integer(count), .string(channel))
    }

    /// Deletes channels of bookings that were not used since `cutoff`, at most `most`. The cutoff must be well before
    /// the cutoff for notifications: a channel that is used again starts at 1, so no notification with an old number
    /// may be left.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.change(
            """
            DELETE FROM channel_sequences WHERE channel IN (SELECT channel FROM channel_sequences WHERE passing = 1 \
            AND used_at < ? ORDER BY used_at LIMIT ?)
            """, .integer(cutoff), .integer(most))
    }
}
