/// Stored responses to requests with an `Idempotency-Key`.
struct IdempotencyTable {
    /// Milliseconds for which a response is stored: 48 hours.
    static let lifetime: Int64 = 48 * 3600 * 1000

    struct StoredResponse {
        /// A digest of the request. A later request with the same key but another digest is not a repetition of it.
        let digest: [UInt8]
        let status: Int
        let body: [UInt8]
    }

    static let table = Table<StoredResponse>(
        "idempotency", key: ["subject", "key"], others: ["subject", "key", "created_at"])

    let database: Database

    /// The stored response to the request with the idempotency key `key`; nil if there is none or it has expired.
    /// - Parameter subject: ``Identity/key`` of the user. Two users may use the same key.
    func response(subject: String, key: String, now: Int64) throws(DatabaseError) -> StoredResponse? {
        try database.first(
            Self.selectNew, .string(subject), .string(key), .integer(now - Self.lifetime), as: StoredResponse.init(row:))
    }

    private static let selectNew = table.select("WHERE subject = ? AND key = ? AND created_at > ?")

    /// Stores the response to a request.
    func store(_ response: StoredResponse, subject: String, key: String, now: Int64) throws(DatabaseError) {
        // A row with this key exists only if its response has expired and is not deleted yet.
        try database.change(Self.table.upsert, Self.table.values(of: response, .string(subject), .string(key), .integer(now)))
    }

    /// The number of responses to a user that are stored.
    func count(of subject: String) throws(DatabaseError) -> Int {
        Int(
            try database.first(
                "SELECT COUNT(*) FROM idempotency WHERE subject = ?", .string(subject), as: { $0.integer(0) }) ?? 0)
    }

    /// Deletes the oldest responses to a user, at most `most`.
    /// - Returns: the number of deleted responses.
    func deleteOldest(of subject: String, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            DELETE FROM idempotency WHERE subject = ? AND key IN (SELECT key FROM idempotency WHERE subject = ? \
            ORDER BY created_at LIMIT ?)
            """, .string(subject), .string(subject), .integer(most))
    }

    // MARK: Redaction

    struct RedactionRow {
        let subject: String
        let key: String
        let body: [UInt8]
        let storedAt: Int64
    }

    /// Responses stored after the time `after`, oldest first: the first `count` of them, and any others that were
    /// stored in the same millisecond as the last. All responses of one millisecond must be in one result, because the
    /// next call continues after this millisecond.
    func rowsToRedact(after: Int64, about count: Int) throws(DatabaseError) -> [RedactionRow] {
        try database.all(
            """
            SELECT subject, key, body, created_at FROM idempotency WHERE created_at > ? AND created_at <= COALESCE(\
            (SELECT created_at FROM idempotency WHERE created_at > ? ORDER BY created_at LIMIT 1 OFFSET ?), \
            9223372036854775807) ORDER BY created_at
            """, .integer(after), .integer(after), .integer(count - 1),
            as: { row in
                RedactionRow(subject: row.string(0), key: row.string(1), body: row.bytes(2), storedAt: row.integer(3))
            })
    }

    func replaceBody(of row: RedactionRow, by body: [UInt8]) throws(DatabaseError) {
        try database.change(
            "UPDATE idempotency SET body = ? WHERE subject = ? AND key = ?",
            .utf8(body), .string(row.subject), .string(row.key))
    }

    // MARK: Retention

    /// Deletes at most `most` responses that are at least ``lifetime`` old, the oldest first.
    /// - Returns: the number of deleted responses.
    func deleteExpired(now: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            DELETE FROM idempotency WHERE (subject, key) IN (SELECT subject, key FROM idempotency WHERE created_at <= ? \
            ORDER BY created_at LIMIT ?)
            """, .integer(now - Self.lifetime), .integer(most))
    }
}

extension IdempotencyTable.StoredResponse: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try Self(
            digest: column("digest", \.digest), status: column("status", \.status), body: column("body", \.body, as: .utf8))
    }
}
