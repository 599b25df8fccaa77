/// The last sequence number of each channel, and the channel's number of unread notifications.
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
        guard let last else { throw .unreadable("the new sequence number", doing: "advancing a channel's sequence") }
        return last
    }

    /// Counts a notification as unread that is not on this channel, but belongs to the inbox of the channel's owner.
    /// - Returns: the channel's last sequence number; 0 if it has none yet.
    func addUnread(channel: String, now: Int64) throws(DatabaseError) -> Int64 {
        let last = try database.first(
            """
            INSERT INTO channel_sequences (channel, last, passing, used_at, unread) VALUES (?, 0, 0, ?, 1) \
            ON CONFLICT (channel) DO UPDATE SET unread = channel_sequences.unread + 1 RETURNING last
            """, .string(channel), .integer(now), as: { $0.integer(0) })
        guard let last else { throw .unreadable("the last sequence number", doing: "counting an unread notification") }
        return last
    }

    /// The number of notifications of a channel that its owner has neither read nor acted upon.
    func unread(channel: String) throws(DatabaseError) -> Int {
        Int(
            try database.first(
                "SELECT unread FROM channel_sequences WHERE channel = ?", .string(channel), as: { $0.integer(0) }) ?? 0)
    }

    /// Subtracts `count` from a channel's number of unread notifications. Call it when so many unread notifications
    /// were read, acted upon or deleted.
    func subtractUnread(_ count: Int, channel: String) throws(DatabaseError) {
        guard count > 0 else { return }
        try database.change(
            "UPDATE channel_sequences SET unread = unread - ? WHERE channel = ?", .integer(count), .string(channel))
    }

    /// Deletes the rows of at most `most` booking and tracking channels that were last used before `cutoff`. This must
    /// be well before the cutoff for notifications: if a deleted channel is used again, its sequence starts at 1, so
    /// none of its earlier notifications may be left.
    /// - Returns: the number of deleted rows.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.change(
            """
            DELETE FROM channel_sequences WHERE channel IN (SELECT channel FROM channel_sequences WHERE passing = 1 \
            AND used_at < ? ORDER BY used_at LIMIT ?)
            """, .integer(cutoff), .integer(most))
    }
}
