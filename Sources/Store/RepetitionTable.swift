import FleetRules

/// The answers to requests that may come again.
struct RepetitionTable {
    /// How long a request is known again.
    static let lifetime: Int64 = 48 * 3600 * 1000

    struct Answer {
        let digest: [UInt8]
        let status: Int
        let body: [UInt8]
    }

    private let select: Statement
    private let upsert: Statement
    private let deleteSubject: Statement
    private let deleteOld: Statement

    init(_ database: Database) throws(SQLiteError) {
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
    }

    /// - Parameter subject: ``Identity/key``: everybody's keys are his own.
    func answer(subject: String, key: String, now: Int64) throws(SQLiteError) -> Answer? {
        try select.first(.string(subject), .string(key), .integer(now - Self.lifetime)) { row throws(SQLiteError) in
            Answer(digest: row.bytes(0), status: Int(row.integer(1)), body: row.bytes(2))
        }
    }

    func store(_ answer: Answer, subject: String, key: String, now: Int64) throws(SQLiteError) {
        try upsert.run(
            .string(subject), .string(key), .blob(answer.digest), .integer(answer.status), .utf8(answer.body), .integer(now))
    }

    /// Forgets all of somebody's; answers how many.
    func remove(of subject: String) throws(SQLiteError) -> Int { try deleteSubject.change(.string(subject)) }

    /// Forgets what is older than ``lifetime``; answers how many.
    func forget(now: Int64, most: Int) throws(SQLiteError) -> Int {
        try deleteOld.change(.integer(now - Self.lifetime), .integer(most))
    }
}
