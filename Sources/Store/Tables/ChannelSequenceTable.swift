/// The last sequence number of each channel, and the channel's number of unread notifications.
///
/// Each action has two notifications on `admin-channel`, so a channel's row is written at most twice in a transaction:
/// by its first notification, and by ``flush()``.
final class ChannelSequenceTable {
    private let database: Database
    /// The channels that the open transaction has advanced.
    private var advanced: [String: Advance] = [:]

    /// Channels whose last number is prefetched.
    private var prefetched: Set<String> = []

    private struct Advance {
        /// The channel's last sequence number.
        var last: Int64
        /// The number of notifications that are not in the channel's row.
        var unwritten: Int64 = 0
        var usedAt: Int64
    }

    init(database: Database) { self.database = database }

    /// Advances a channel's sequence and counts the new notification as unread. Before the transaction ends, call
    /// ``flush()`` or ``discard()``.
    /// - Returns: the sequence number of the new notification; 1 for the first.
    func next(channel: String, now: Int64) throws(DatabaseError) -> Int64 {
        if let advance = advanced[channel] {
            advanced[channel] = Advance(last: advance.last + 1, unwritten: advance.unwritten + 1, usedAt: now)
            return advance.last + 1
        }
        if prefetched.remove(channel) != nil {
            let last = try last(of: channel)
            advanced[channel] = Advance(last: last + 1, unwritten: 1, usedAt: now)
            return last + 1
        }
        let last = try database.first(
            """
            INSERT INTO channel_sequences (channel, last, passing, used_at, unread) VALUES (?, 1, ?, ?, 1) \
            ON CONFLICT (channel) DO UPDATE SET last = channel_sequences.last + 1, used_at = excluded.used_at, \
            unread = channel_sequences.unread + 1 RETURNING last
            """, .string(channel), .integer(Self.isPassing(channel) ? 1 : 0), .integer(now), as: { $0.integer(0) })
        guard let last else { throw .unreadable("the new sequence number", doing: "advancing a channel's sequence") }
        advanced[channel] = Advance(last: last, usedAt: now)
        return last
    }

    /// Says that notifications are about to be numbered. The row of a channel is then written by ``flush()`` only.
    func prefetch(channel: String) throws(DatabaseError) {
        guard database.canPrefetch, advanced[channel] == nil else { return }
        try database.prefetch(Self.selectLast, .string(channel))
        prefetched.insert(channel)
    }

    /// The last sequence number of a channel in its row; 0 if it has none yet.
    func last(of channel: String) throws(DatabaseError) -> Int64 {
        try database.first(Self.selectLast, .string(channel), as: { $0.integer(0) }) ?? 0
    }

    private static let selectLast: SQL = "SELECT last FROM channel_sequences WHERE channel = ?"

    private static func isPassing(_ channel: String) -> Bool { channel.hasPrefix("booking-") || channel.hasPrefix("tracking-") }

    /// Writes what is not written yet. Call it before a transaction is committed.
    func flush() throws(DatabaseError) {
        for (channel, advance) in advanced { try write(advance, of: channel) }
        discard()
    }

    private func flush(_ channel: String) throws(DatabaseError) {
        if let advance = advanced.removeValue(forKey: channel) { try write(advance, of: channel) }
    }

    private func write(_ advance: Advance, of channel: String) throws(DatabaseError) {
        guard advance.unwritten > 0 else { return }
        try database.change(
            """
            INSERT INTO channel_sequences (channel, last, passing, used_at, unread) VALUES (?, ?, ?, ?, ?) \
            ON CONFLICT (channel) DO UPDATE SET last = excluded.last, used_at = excluded.used_at, \
            unread = channel_sequences.unread + excluded.unread
            """, .string(channel), .integer(advance.last), .integer(Self.isPassing(channel) ? 1 : 0),
            .integer(advance.usedAt), .integer(advance.unwritten))
    }

    /// Forgets what is not written yet. Call it after a transaction was rolled back.
    func discard() {
        advanced.removeAll(keepingCapacity: true)
        prefetched.removeAll(keepingCapacity: true)
    }

    /// Counts a notification as unread that is not on this channel, but belongs to the inbox of the channel's owner.
    /// - Returns: the channel's last sequence number; 0 if it has none yet.
    func addUnread(channel: String, now: Int64) throws(DatabaseError) -> Int64 {
        try flush(channel)
        let last = try database.first(
            """
            INSERT INTO channel_sequences (channel, last, passing, used_at, unread) VALUES (?, 0, 0, ?, 1) \
            ON CONFLICT (channel) DO UPDATE SET unread = channel_sequences.unread + 1 RETURNING last
            """, .string(channel), .integer(now), as: { $0.integer(0) })
        guard let last else { throw .unreadable("the last sequence number", doing: "counting an unread notification") }
        return last
    }

    /// The last sequence number of a channel, 0 if it has none yet; and the number up to which nothing is replayed,
    /// because the channel's owner was erased.
    func end(of channel: String) throws(DatabaseError) -> (last: Int64, erasedTo: Int64) {
        try flush(channel)
        return try database.first(
            "SELECT last, erased_to FROM channel_sequences WHERE channel = ?", .string(channel),
            as: { ($0.integer(0), $0.integer(1)) }) ?? (0, 0)
    }

    /// Records that the notifications of a channel up to now are not replayed any more: its owner is erased.
    func eraseAll(channel: String) throws(DatabaseError) {
        try flush(channel)
        try database.change("UPDATE channel_sequences SET erased_to = last WHERE channel = ?", .string(channel))
    }

    /// The sequence number up to which all notifications of a channel are read, because its owner has marked all as
    /// read; 0 if the owner has not.
    func readTo(channel: String) throws(DatabaseError) -> Int64 {
        try database.first(
            "SELECT read_to FROM channel_sequences WHERE channel = ?", .string(channel), as: { $0.integer(0) }) ?? 0
    }

    /// Records that all notifications of a channel are read.
    func markAllRead(channel: String) throws(DatabaseError) {
        try flush(channel)
        try database.change(
            "UPDATE channel_sequences SET read_to = last WHERE channel = ? AND read_to < last", .string(channel))
    }

    /// The number of notifications of a channel that its owner has neither read nor acted upon.
    func unread(channel: String) throws(DatabaseError) -> Int {
        try flush(channel)
        return Int(
            try database.first(
                "SELECT unread FROM channel_sequences WHERE channel = ?", .string(channel), as: { $0.integer(0) }) ?? 0)
    }

    /// Subtracts `count` from a channel's number of unread notifications. Call it when so many unread notifications
    /// were read, acted upon or deleted.
    func subtractUnread(_ count: Int, channel: String) throws(DatabaseError) {
        guard count > 0 else { return }
        try flush(channel)
        try database.change(
            "UPDATE channel_sequences SET unread = unread - ? WHERE channel = ?", .integer(count), .string(channel))
    }

    /// Deletes the rows of at most `most` booking and tracking channels that were last used before `cutoff`. This must
    /// be well before the cutoff for notifications: if a deleted channel is used again, its sequence starts at 1, so
    /// none of its earlier notifications may be left.
    /// - Returns: the number of deleted rows.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            DELETE FROM channel_sequences WHERE channel IN (SELECT channel FROM channel_sequences WHERE passing = 1 \
            AND used_at < ? ORDER BY used_at LIMIT ?)
            """, .integer(cutoff), .integer(most))
    }
}
