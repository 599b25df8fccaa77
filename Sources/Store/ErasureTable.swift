import FleetRules

/// Those who are to be forgotten, and how far the log of notifications has been searched for them.
struct ErasureTable {
    struct Erasure {
        let person: Identity
        /// The last notification that was looked at.
        let cursor: String
        /// The last there was when it was asked for.
        let lastID: String
    }

    private let upsert: Statement
    private let selectFirst: Statement
    private let advance: Statement
    private let delete: Statement

    init(_ database: Database) throws(SQLiteError) {
        // Asked for again: from the beginning, and up to what is there by now.
        upsert = try Statement(
            """
            INSERT INTO erasures (subject, role, id, requested_at, cursor, last_id) VALUES (?, ?, ?, ?, '', ?) \
            ON CONFLICT (subject) DO UPDATE SET requested_at = excluded.requested_at, cursor = excluded.cursor, \
            last_id = excluded.last_id
            """, on: database)
        selectFirst = try Statement(
            "SELECT role, id, cursor, last_id FROM erasures ORDER BY requested_at, subject LIMIT 1", on: database)
        advance = try Statement("UPDATE erasures SET cursor = ? WHERE subject = ?", on: database)
        delete = try Statement("DELETE FROM erasures WHERE subject = ?", on: database)
    }

    func add(_ person: Identity, lastID: String, now: Int64) throws(SQLiteError) {
        try upsert.run(
            .string(person.key), .string(person.role.rawValue), .string(person.id), .integer(now), .string(lastID))
    }

    /// The oldest; nil when there is none.
    func first() throws(SQLiteError) -> Erasure? {
        try selectFirst.first { row throws(SQLiteError) in
            guard let role = Role(rawValue: row.string(0)) else {
                throw .misread("the role '\(row.string(0))'", doing: row.sql)
            }
            return Erasure(person: Identity(role: role, id: row.string(1)), cursor: row.string(2), lastID: row.string(3))
        }
    }

    func advance(_ person: Identity, to id: String) throws(SQLiteError) { try advance.run(.string(id), .string(person.key)) }

    func remove(_ person: Identity) throws(SQLiteError) { try delete.run(.string(person.key)) }
}
