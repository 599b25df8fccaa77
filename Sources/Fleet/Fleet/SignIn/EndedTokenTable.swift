/// Tokens of sign-ins and customers that have ended, until they cannot be refreshed any more.
struct EndedTokenTable {
    let database: Database

    func add(_ ended: EndedTokens) throws(DatabaseError) {
        try database.change(
            "INSERT INTO ended_tokens (id, until) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET until = excluded.until",
            .string(ended.key), .integer(ended.until))
    }

    func contains(_ key: String) throws(DatabaseError) -> Bool {
        try database.first("SELECT 1 FROM ended_tokens WHERE id = ?", .string(key), as: { _ in true }) ?? false
    }

    /// Calls `each` for every row. Used at the start.
    func each(_ each: (EndedTokens) -> Void) throws(DatabaseError) {
        try database.each("SELECT id, until FROM ended_tokens") { row throws(DatabaseError) in
            each(EndedTokens(key: row.string(0), until: row.integer(1)))
        }
    }

    /// Deletes at most `most` rows whose time is over.
    func deleteExpired(now: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            "DELETE FROM ended_tokens WHERE id IN (SELECT id FROM ended_tokens WHERE until <= ? ORDER BY until LIMIT ?)",
            .integer(now), .integer(most))
    }
}
