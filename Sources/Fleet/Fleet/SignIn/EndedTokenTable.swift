/// Tokens of sign-ins and customers that have ended, until they cannot be refreshed any more.
struct EndedTokenTable {
    static let table = Table<EndedTokens>("ended_tokens", key: ["id"])

    let database: Database

    func add(_ ended: EndedTokens) throws(DatabaseError) {
        try database.change(Self.table.upsert, Self.table.values(of: ended))
    }

    func contains(_ key: String) throws(DatabaseError) -> Bool {
        try database.first("SELECT 1 FROM ended_tokens WHERE id = ?", .string(key), as: { _ in true }) ?? false
    }

    /// Calls `each` for every row. Used at the start.
    func each(_ each: (EndedTokens) -> Void) throws(DatabaseError) {
        try database.each(Self.selectAll) { row throws(DatabaseError) in each(try EndedTokens(row: row)) }
    }

    private static let selectAll = table.select("")

    /// Deletes at most `most` rows whose time is over.
    func deleteExpired(now: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            "DELETE FROM ended_tokens WHERE id IN (SELECT id FROM ended_tokens WHERE until <= ? ORDER BY until LIMIT ?)",
            .integer(now), .integer(most))
    }
}

extension EndedTokens: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<EndedTokens>) throws(DatabaseError) -> EndedTokens {
        try EndedTokens(key: column("id", \.key), until: column("until", \.until))
    }
}
