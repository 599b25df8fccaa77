/// The last sequence number of each channel, and how many notifications of its owner's inbox are unread, and have no
/// read mark.
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
            INSERT INTO channel_sequences (channel, last, passing, used_at, unread, unmarked) VALUES (?, 1, ?, ?, 1, 1) \
            ON CONFLICT (channel) DO UPDATE SET last = channel_sequences.last + 1, used_at = excluded.used_at, \
            unread = channel_sequences.unread + 1, unmarked = channel_sequences.unmarked + 1 RETURNING last
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
            INSERT INTO channel_sequences (channel, last, passing, used_at, unread, unmarked) VALUES (?, ?, ?, ?, ?, ?) \
            ON CONFLICT (channel) DO UPDATE SET last = excluded.last, used_at = excluded.used_at, \
            unread = channel_sequences.unread + excluded.unread, unmarked = channel_sequences.unmarked + excluded.unmarked
            """, .string(channel), .integer(advance.last), .integer(Self.isPassing(channel) ? 1 : 0),
            .integer(advance.usedAt), .integer(advance.unwritten), .integer(advance.unwritten))
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
            INSERT INTO channel_sequences (channel, last, passing, used_at, unread, unmarked) VALUES (?, 0, 0, ?, 1, 1) \
            ON CONFLICT (channel) DO UPDATE SET unread = channel_sequences.unread + 1, \
            unmarked = channel_sequences.unmarked + 1 RETURNING last
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

    /// Records that the whole inbox of a channel's owner is read.
    /// - Returns: the sequence number up to which the channel was read before, its last one, and how many notifications of
    ///   the inbox had no read mark; nil if there is nothing to mark.
    func markAllRead(channel: String) throws(DatabaseError) -> (readTo: Int64, last: Int64, unmarked: Int)? {
        try flush(channel)
        let inbox = try database.first(
            "SELECT read_to, last, unmarked FROM channel_sequences WHERE channel = ?", .string(channel),
            as: { (readTo: $0.integer(0), last: $0.integer(1), unmarked: Int($0.integer(2))) })
        guard let inbox, inbox.readTo < inbox.last || inbox.unmarked > 0 else { return nil }
        try database.change(
            "UPDATE channel_sequences SET read_to = last, unread = 0, unmarked = 0 WHERE channel = ?", .string(channel))
        return inbox
    }

    /// The number of notifications of a channel that its owner has neither read nor acted upon.
    func unread(channel: String) throws(DatabaseError) -> Int {
        try flush(channel)
        return Int(
            try database.first(
                "SELECT unread FROM channel_sequences WHERE channel = ?", .string(channel), as: { $0.integer(0) }) ?? 0)
    }

    /// Subtracts notifications of an inbox that were marked as read, acted upon or deleted.
    /// - Parameters:
    ///   - unread: those that were unread before.
    ///   - unmarked: those that had no read mark, and have one now or are deleted.
    func subtract(unread: Int, unmarked: Int, channel: String) throws(DatabaseError) {
        guard unread > 0 || unmarked > 0 else { return }
        try flush(channel)
        try database.change(
            "UPDATE channel_sequences SET unread = unread - ?, unmarked = unmarked - ? WHERE channel = ?", .integer(unread),
            .integer(unmarked), .string(channel))
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
