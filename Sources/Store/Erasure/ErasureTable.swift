import Access
import JSON

/// The erasures in progress: one row per person, with how far the notification log and the stored responses have been
/// searched.
///
/// If the person has open orders or routes, the row remains after the search, without names, until these have ended.
struct ErasureTable {
    struct Erasure {
        let person: Identity
        let requestedAt: Int64
        /// The id of the last notification that was searched; empty at the start, `~` when the search is done.
        let cursor: String
        /// The id of the last notification to search.
        let lastID: String
        /// When the last stored response that was searched was stored, in milliseconds since 1970; 0 at the start.
        let responseCursor: Int64
        /// The person's names to replace; empty when the search is done.
        let names: [String]
    }

    /// The cursor of erasures whose search is done. It is not an id and sorts after every id: an id is a ULID, which
    /// consists of digits and capital letters.
    private static let searched = "~"
    private static let select = """
        SELECT role, id, requested_at, cursor, last_id, answers_to, names FROM erasures
        """

    let database: Database

    /// Adds an erasure. If the person already has one, it starts again from the beginning.
    /// - Parameters:
    ///   - names: the person's names. Names that an unfinished erasure of the same person has stored are kept, too.
    ///   - lastID: the id of the last notification to search.
    func add(_ person: Identity, names: [String], lastID: String, now: Int64) throws(DatabaseError) {
        let known =
            try database.first(
                "SELECT names FROM erasures WHERE subject = ?", .string(person.key), as: { Self.names($0.bytes(0)) }) ?? []
        try database.change(
            """
            INSERT INTO erasures (subject, role, id, requested_at, cursor, last_id, answers_to, names) \
            VALUES (?, ?, ?, ?, '', ?, 0, ?) \
            ON CONFLICT (subject) DO UPDATE SET requested_at = excluded.requested_at, cursor = excluded.cursor, \
            last_id = excluded.last_id, answers_to = excluded.answers_to, names = excluded.names
            """, .string(person.key), .string(person.role.rawValue), .string(person.id), .integer(now), .string(lastID),
            .utf8(Self.json(names + known)))
    }

    /// The oldest erasure whose search is not done; nil if there is none.
    func first() throws(DatabaseError) -> Erasure? {
        try database.first(Self.selectFirst, .string(Self.searched), as: Erasure.init(row:))
    }

    private static let selectFirst = SQL("\(select) WHERE cursor <> ? ORDER BY requested_at, subject LIMIT 1")

    /// The erasures whose search is done, and which wait until the orders and routes that were open at the time of the
    /// request have ended.
    func waiting() throws(DatabaseError) -> [Erasure] {
        try database.all(Self.selectWaiting, .string(Self.searched), as: Erasure.init(row:))
    }

    private static let selectWaiting = SQL("\(select) WHERE cursor = ? ORDER BY requested_at, subject")

    /// Restarts a search from the beginning.
    func restart(_ person: Identity, names: [String], lastID: String) throws(DatabaseError) {
        try database.change(
            "UPDATE erasures SET cursor = '', last_id = ?, answers_to = 0, names = ? WHERE subject = ?",
            .string(lastID), .utf8(Self.json(names)), .string(person.key))
    }

    /// Stores how far an erasure has searched.
    /// - Parameters:
    ///   - id: the last notification that was searched.
    ///   - responseCursor: when the last response that was searched was stored.
    ///   - names: the names that the rest of the search replaces.
    func advance(_ person: Identity, to id: String, responseCursor: Int64, names: [String]) throws(DatabaseError) {
        try database.change(
            "UPDATE erasures SET cursor = ?, answers_to = ?, names = ? WHERE subject = ?",
            .string(id), .integer(responseCursor), .utf8(Self.json(names)), .string(person.key))
    }

    /// Marks the search as done, and deletes the names. For an erasure that must wait because an order or route of the
    /// person is still open.
    func markWaiting(_ person: Identity) throws(DatabaseError) {
        try advance(person, to: Self.searched, responseCursor: 0, names: [])
    }

    func remove(_ person: Identity) throws(DatabaseError) {
        try database.change("DELETE FROM erasures WHERE subject = ?", .string(person.key))
    }

    private static func json(_ names: [String]) -> [UInt8] {
        var json = JSONWriter()
        json.array(names)
        return json.bytes
    }

    fileprivate static func names(_ json: [UInt8]) -> [String] {
        var names: [String] = []
        // If the JSON is not an array, there are no names. That does not occur: `json(_:)` writes only arrays.
        try? json.withUnsafeBytes { bytes in
            try JSONReader.array(bytes) { if let name = $0.string { names.append(name) } }
        }
        return names
    }
}

extension ErasureTable.Erasure {
    fileprivate init(row: Row) throws(DatabaseError) {
        guard let role = Role(rawValue: row.string(0)) else {
            throw .unreadable("the role '\(row.string(0))'", doing: row.sql)
        }
        self.init(
            person: Identity(role: role, id: row.string(1)), requestedAt: row.integer(2), cursor: row.string(3),
            lastID: row.string(4), responseCursor: row.integer(5), names: ErasureTable.names(row.bytes(6)))
    }
}
