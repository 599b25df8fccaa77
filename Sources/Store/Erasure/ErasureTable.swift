import Access
import JSON

/// Those who are to be forgotten, and how far the log of notifications and the stored answers have been searched for them.
///
/// Whoever had open orders or routes stays here when the search is done, without his names, until they are over.
struct ErasureTable {
    struct Erasure {
        let person: Identity
        let requestedAt: Int64
        /// The last notification that was looked at.
        let cursor: String
        /// The last there was when the search began.
        let lastID: String
        /// When the last answer was stored that was looked at.
        let answersTo: Int64
        /// What he was called.
        let names: [String]
    }

    /// The cursor of those whose search is done. A ULID consists of digits and capitals, which all stand before it.
    private static let searched = "~"

    private let upsert: Statement
    private let selectFirst: Statement
    private let selectWaiting: Statement
    private let selectNames: Statement
    private let restart: Statement
    private let advance: Statement
    private let delete: Statement

    init(_ database: Database) throws(DatabaseError) {
        let select = "SELECT role, id, requested_at, cursor, last_id, answers_to, names FROM erasures WHERE cursor"
        // Asked for again: from the beginning, and up to what is there by now.
        upsert = try Statement(
            """
            INSERT INTO erasures (subject, role, id, requested_at, cursor, last_id, answers_to, names) \
            VALUES (?, ?, ?, ?, '', ?, 0, ?) \
            ON CONFLICT (subject) DO UPDATE SET requested_at = excluded.requested_at, cursor = excluded.cursor, \
            last_id = excluded.last_id, answers_to = excluded.answers_to, names = excluded.names
            """, on: database)
        selectFirst = try Statement("\(select) <> ? ORDER BY requested_at, subject LIMIT 1", on: database)
        selectWaiting = try Statement("\(select) = ? ORDER BY requested_at, subject", on: database)
        selectNames = try Statement("SELECT names FROM erasures WHERE subject = ?", on: database)
        restart = try Statement(
            "UPDATE erasures SET cursor = '', last_id = ?, answers_to = 0, names = ? WHERE subject = ?", on: database)
        advance = try Statement(
            "UPDATE erasures SET cursor = ?, answers_to = ?, names = ? WHERE subject = ?", on: database)
        delete = try Statement("DELETE FROM erasures WHERE subject = ?", on: database)
    }

    /// - Parameter names: what he was called; what is known of him already holds, too.
    func add(_ person: Identity, names: [String], lastID: String, now: Int64) throws(DatabaseError) {
        let known = try selectNames.first(.string(person.key)) { row throws(DatabaseError) in Self.names(row.bytes(0)) } ?? []
        try upsert.run(
            .string(person.key), .string(person.role.rawValue), .string(person.id), .integer(now), .string(lastID),
            .utf8(Self.json(names + known)))
    }

    /// The oldest that is to be searched for; nil when there is none.
    func first() throws(DatabaseError) -> Erasure? {
        try selectFirst.first(.string(Self.searched)) { row throws(DatabaseError) in try Self.erasure(row) }
    }

    /// Those who wait for the end of what was open when they asked.
    func waiting() throws(DatabaseError) -> [Erasure] {
        try selectWaiting.all(.string(Self.searched)) { row throws(DatabaseError) in try Self.erasure(row) }
    }

    /// Has him searched for from the beginning.
    func restart(_ person: Identity, names: [String], lastID: String) throws(DatabaseError) {
        try restart.run(.string(lastID), .utf8(Self.json(names)), .string(person.key))
    }

    /// - Parameter names: those to look for from there on.
    func advance(_ person: Identity, to id: String, answersTo: Int64, names: [String]) throws(DatabaseError) {
        try advance.run(.string(id), .integer(answersTo), .utf8(Self.json(names)), .string(person.key))
    }

    /// The search is done, but something of his is still open.
    func markWaiting(_ person: Identity) throws(DatabaseError) {
        try advance.run(.string(Self.searched), .integer(0), .utf8(Self.json([])), .string(person.key))
    }

    func remove(_ person: Identity) throws(DatabaseError) { try delete.run(.string(person.key)) }

    private static func erasure(_ row: Row) throws(DatabaseError) -> Erasure {
        guard let role = Role(rawValue: row.string(0)) else {
            throw .misread("the role '\(row.string(0))'", doing: row.sql)
        }
        return Erasure(
            person: Identity(role: role, id: row.string(1)), requestedAt: row.integer(2), cursor: row.string(3),
            lastID: row.string(4), answersTo: row.integer(5), names: names(row.bytes(6)))
    }

    private static func json(_ names: [String]) -> [UInt8] {
        var json = JSONWriter()
        json.raw("[")
        json.list(names) { $0.string($1) }
        json.raw("]")
        return json.bytes
    }

    private static func names(_ json: [UInt8]) -> [String] {
        var names: [String] = []
        // What is no array has no names: it is written above.
        try? json.withUnsafeBytes { bytes in
            try JSONReader.array(bytes) { if let name = $0.string { names.append(name) } }
        }
        return names
    }
}
