/// The last sequence number that each device has confirmed, per channel and owner.
///
/// Clients name their devices themselves, so an owner has at most ``devicesMax`` cursors in a channel: all that concerns an
/// owner takes constant time.
struct CursorTable {
    /// The most cursors of an owner in a channel.
    static let devicesMax = 20

    let database: Database

    /// The device's cursor, and when it was last used; nil if the device has none.
    func cursor(of key: ReceiptKey) throws(DatabaseError) -> (sequence: Int64, usedAt: Int64)? {
        try database.first(
            "SELECT sequence, updated_at FROM cursors WHERE channel = ? AND owner = ? AND device = ?",
            .string(key.channel), .string(key.owner), .string(key.device), as: { ($0.integer(0), $0.integer(1)) })
    }

    /// The number of an owner's cursors, and that of the furthest device; nil if none of the owner's devices has one.
    func furthest(of owner: String, channel: String) throws(DatabaseError) -> (count: Int, sequence: Int64?) {
        try database.first(
            "SELECT COUNT(*), MAX(sequence) FROM cursors WHERE channel = ? AND owner = ?", .string(channel), .string(owner),
            as: { (Int($0.integer(0)), $0.optionalInteger(1)) }) ?? (0, nil)
    }

    /// Deletes the cursors of an owner that were used longest ago.
    /// - Parameter kept: the number of cursors that stay.
    /// - Returns: the number of deleted cursors.
    func removeLeastUsed(of owner: String, channel: String, keeping kept: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            DELETE FROM cursors WHERE channel = ? AND owner = ? AND device NOT IN (SELECT device FROM cursors \
            WHERE channel = ? AND owner = ? ORDER BY updated_at DESC, created_at DESC, device LIMIT ?)
            """, .string(channel), .string(owner), .string(channel), .string(owner), .integer(kept))
    }

    /// Moves the device's cursor to a sequence number, never backwards. Creates the cursor if the device has none, unless
    /// the owner has ``devicesMax`` others: then the cursor has gone while the device was connected.
    func advance(_ key: ReceiptKey, to sequence: Int64, now: Int64) throws(DatabaseError) {
        // `updated_at` is not changed, because that would also write to its index at each confirmation.
        try database.change(
            """
            INSERT INTO cursors (channel, owner, device, sequence, created_at, updated_at) \
            SELECT CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT) \
            WHERE (SELECT COUNT(*) FROM cursors WHERE channel = ? AND owner = ? AND device <> ?) < ? \
            ON CONFLICT (channel, owner, device) DO UPDATE SET sequence = excluded.sequence \
            WHERE cursors.sequence < excluded.sequence
            """, .string(key.channel), .string(key.owner), .string(key.device), .integer(sequence), .integer(now),
            .integer(now), .string(key.channel), .string(key.owner), .string(key.device), .integer(Self.devicesMax))
    }

    /// Records when the device last used its cursor.
    func touch(_ key: ReceiptKey, now: Int64) throws(DatabaseError) {
        try database.change(
            "UPDATE cursors SET updated_at = ? WHERE channel = ? AND owner = ? AND device = ?", .integer(now),
            .string(key.channel), .string(key.owner), .string(key.device))
    }

    /// Deletes the cursors of all devices of an owner.
    func remove(of owner: String, channel: String) throws(DatabaseError) {
        try database.change("DELETE FROM cursors WHERE channel = ? AND owner = ?", .string(channel), .string(owner))
    }

    /// Deletes at most `most` cursors that were last used before `cutoff`.
    /// - Returns: the number of deleted cursors.
    func deleteUnused(since cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            DELETE FROM cursors WHERE (channel, owner, device) IN (SELECT channel, owner, device FROM cursors \
            WHERE updated_at < ? ORDER BY updated_at LIMIT ?)
            """, .integer(cutoff), .integer(most))
    }
}
