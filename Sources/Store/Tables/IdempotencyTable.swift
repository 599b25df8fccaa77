/// The answers to requests that may come again.
struct IdempotencyTable {
    /// How long a request is known again.
    static let lifetime: Int64 = 48 * 3600 * 1000

    struct StoredResponse {
        let digest: [UInt8]
        let status: Int
        let body: [UInt8]
    }

    private let select: Statement
    private let upsert: Statement
    private let deleteSubject: Statement
    private let deleteOld: Statement
    private let selectSome: Statement
    private let updateBody: Statement

    init(_ database: Database) throws(DatabaseError) {
        select = try Statement(
            "SELECT digest, status, body FROM idempotency WHERE subject = ? AND key = ? AND created_at > ?", on: database)
        // A conflict is with an answer that has expired and is not deleted yet.
        upsert = try Statement(
            """
            INSERT INTO idempotency (subject, key, digest, status, body, created_at) VALUES (?, ?, ?, ?, ?, ?) \
            ON CONFLICT (subject, key) DO UPDATE SET digest = excluded.digest, status = excluded.status, \
            body = excluded.body, created_at = excluded.created_at
            """, on: database)
        deleteSubject = try Statement("DELETE FROM idempotency WHERE subject = ?", on: database)
        deleteOld = try Statement(
            """
            DELETE FROM idempotency WHERE (subject, key) IN (SELECT subject, key FROM idempotency WHERE created_at <= ? \
            ORDER BY created_at LIMIT ?)
            """, on: database)
        // All of the last moment, too: there is no order among those of one commit.
        selectSome = try Statement(
            """
            SELECT subject, key, body, created_at FROM idempotency WHERE created_at > ?1 AND created_at <= COALESCE(\
            (SELECT created_at FROM idempotency WHERE created_at > ?1 ORDER BY created_at LIMIT 1 OFFSET ?2), \(Int64.max)) \
            ORDER BY created_at
            """, on: database)
        updateBody = try Statement("UPDATE idempotency SET body = ? WHERE subject = ? AND key = ?", on: database)
    }

    /// - Parameter subject: ``Identity/key``: everybody's keys are his own.
    func response(subject: String, key: String, now: Int64) throws(DatabaseError) -> StoredResponse? {
        try select.first(.string(subject), .string(key), .integer(now - Self.lifetime)) { row throws(DatabaseError) in
            StoredResponse(digest: row.bytes(0), status: Int(row.integer(1)), body: row.bytes(2))
        }
    }

    func store(_ answer: StoredResponse, subject: String, key: String, now: Int64) throws(DatabaseError) {
        try upsert.run(
            .string(subject), .string(key), .blob(answer.digest), .integer(answer.status), .utf8(answer.body), .integer(now))
    }

    /// Forgets all of somebody's; answers how many.
    func remove(of subject: String) throws(DatabaseError) -> Int { try deleteSubject.change(.string(subject)) }

    // MARK: Going through all

    struct RedactionRow {
        let subject: String
        let key: String
        let body: [UInt8]
        let storedAt: Int64
    }

    /// Those stored after a moment, oldest first: about `count`, and none left out of the last one's moment.
    func rowsToRedact(after: Int64, about count: Int) throws(DatabaseError) -> [RedactionRow] {
        try selectSome.all(.integer(after), .integer(count - 1)) { row throws(DatabaseError) in
            RedactionRow(subject: row.string(0), key: row.string(1), body: row.bytes(2), storedAt: row.integer(3))
        }
    }

    func replaceBody(of passage: RedactionRow, by body: [UInt8]) throws(DatabaseError) {
        try updateBody.run(.utf8(body), .string(passage.subject), .string(passage.key))
    }

    // MARK: Forgetting

    /// Forgets what is older than ``lifetime``; answers how many.
    func deleteExpired(now: Int64, most: Int) throws(DatabaseError) -> Int {
        try deleteOld.change(.integer(now - Self.lifetime), .integer(most))
    }
}
