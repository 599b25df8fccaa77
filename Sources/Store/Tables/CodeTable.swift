import OneTimeCodes

/// Sign-ins by code that have begun, what was sent, and what was tried. Nothing here is in clear but the phone.
struct CodeTable {
    let database: Database

    struct Stored {
        var session: CodeSession
        /// Identifies the present code among those of the session.
        var sendID: String
        /// The codes of the session so far.
        var sends: Int
        /// The id of the key of ``digest``.
        var keyID: String
        var digest: [UInt8]
        /// The encrypted response to the right code; nil until it has come.
        var answer: Answer?

        struct Answer {
            let sealed: [UInt8]
            let keyID: String
        }
    }

    // MARK: Sessions

    private static let columns = """
        id, phone, delivery, send_id, sends, sent_at, tries_left, verified_at, key_id, digest, answer, answer_key_id
        """

    func session(id: String) throws(DatabaseError) -> Stored? {
        try database.first(Self.selectByID, .string(id), as: Stored.init(row:))
    }

    /// The session whose code was sent last, at `until` at the latest: later ones are of before the clock was set back.
    func newest(ofPhone phone: String, until: Int64) throws(DatabaseError) -> Stored? {
        try database.first(Self.selectNewest, .string(phone), .integer(until), as: Stored.init(row:))
    }

    private static let selectByID = SQL("SELECT \(columns) FROM code_sessions WHERE id = ?")
    private static let selectNewest = SQL(
        "SELECT \(columns) FROM code_sessions WHERE phone = ? AND sent_at <= ? ORDER BY sent_at DESC LIMIT 1")

    /// Inserts or updates a session.
    func store(_ stored: Stored) throws(DatabaseError) {
        let session = stored.session
        try database.change(
            Self.upsert, .string(session.id), .string(session.phone), .string(session.delivery.rawValue),
            .string(stored.sendID), .integer(stored.sends), .integer(session.sentAt), .integer(session.triesLeft),
            .integer(session.verifiedAt), .string(stored.keyID), .blob(stored.digest),
            stored.answer.map { .blob($0.sealed) } ?? .null, .string(stored.answer?.keyID))
    }

    private static let upsert = SQL(
        """
        INSERT INTO code_sessions (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET \
        delivery = excluded.delivery, send_id = excluded.send_id, sends = excluded.sends, sent_at = excluded.sent_at, \
        tries_left = excluded.tries_left, verified_at = excluded.verified_at, key_id = excluded.key_id, \
        digest = excluded.digest, answer = excluded.answer, answer_key_id = excluded.answer_key_id
        """)

    /// Marks the sessions that a process was sending, before `time`, when it was killed.
    /// - Returns: their number.
    func forgetSending(before time: Int64) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            "UPDATE code_sessions SET delivery = 'unknown' WHERE delivery = 'sending' AND sent_at < ?", .integer(time))
    }

    // MARK: Limits

    /// Records an SMS.
    /// - Parameter id: see ``Stored/sendID``.
    func addSend(_ id: String, phone: String, at now: Int64) throws(DatabaseError) {
        try database.change(
            "INSERT INTO code_sends (id, phone, at) VALUES (?, ?, ?)", .string(id), .string(phone), .integer(now))
    }

    /// Removes an SMS that could not be sent.
    func removeSend(_ id: String) throws(DatabaseError) {
        try database.change("DELETE FROM code_sends WHERE id = ?", .string(id))
    }

    /// When SMS were sent to a phone.
    func sends(toPhone phone: String, since: Int64) throws(DatabaseError) -> [Int64] {
        try database.all(
            "SELECT at FROM code_sends WHERE phone = ? AND at > ?", .string(phone), .integer(since), as: { $0.integer(0) })
    }

    /// The number of SMS to all phones.
    func sendCount(since: Int64, until: Int64) throws(DatabaseError) -> Int {
        Int(
            try database.first(
                "SELECT COUNT(*) FROM code_sends WHERE at > ? AND at <= ?", .integer(since), .integer(until),
                as: { $0.integer(0) }) ?? 0)
    }

    /// Records a wrong code.
    func addTry(_ id: String, phone: String, at now: Int64) throws(DatabaseError) {
        try database.change(
            "INSERT INTO code_tries (id, phone, at) VALUES (?, ?, ?)", .string(id), .string(phone), .integer(now))
    }

    /// When wrong codes were tried for a phone.
    func tries(forPhone phone: String, since: Int64) throws(DatabaseError) -> [Int64] {
        try database.all(
            "SELECT at FROM code_tries WHERE phone = ? AND at > ?", .string(phone), .integer(since), as: { $0.integer(0) })
    }

    // MARK: Deletion

    /// Deletes what is stored about a phone. The SMS still count for the limit of all phones.
    func erase(phone: String) throws(DatabaseError) {
        try database.change("DELETE FROM code_sessions WHERE phone = ?", .string(phone))
        try database.change("DELETE FROM code_tries WHERE phone = ?", .string(phone))
        try database.change("UPDATE code_sends SET phone = '' WHERE phone = ?", .string(phone))
    }

    /// Deletes at most `most` sessions, SMS and tries each that matter no more.
    /// - Returns: the number of deleted rows.
    func deleteExpired(now: Int64, most: Int) throws(DatabaseError) -> Int {
        var count = try database.changeCountingRows(
            """
            DELETE FROM code_sessions WHERE id IN (SELECT id FROM code_sessions WHERE sent_at <= ? ORDER BY sent_at LIMIT ?)
            """, .integer(now - CodeSession.keptTime), .integer(most))
        count += try database.changeCountingRows(
            """
            DELETE FROM code_sessions WHERE id IN (SELECT id FROM code_sessions WHERE verified_at IS NOT NULL \
            AND verified_at <= ? LIMIT ?)
            """, .integer(now - CodeSession.repetitionTime), .integer(most))
        let day = SQLValue.integer(now - CodeLimits.day)
        count += try database.changeCountingRows(
            "DELETE FROM code_sends WHERE id IN (SELECT id FROM code_sends WHERE at <= ? ORDER BY at LIMIT ?)", day,
            .integer(most))
        count += try database.changeCountingRows(
            "DELETE FROM code_tries WHERE id IN (SELECT id FROM code_tries WHERE at <= ? ORDER BY at LIMIT ?)", day,
            .integer(most))
        return count
    }
}

extension CodeTable.Stored {
    fileprivate init(row: Row) throws(DatabaseError) {
        guard let delivery = CodeSession.Delivery(rawValue: row.string(2)) else {
            throw .unreadable("the delivery '\(row.string(2))'", doing: row.sql)
        }
        session = CodeSession(id: row.string(0), phone: row.string(1), now: row.integer(5))
        session.delivery = delivery
        session.triesLeft = Int(row.integer(6))
        session.verifiedAt = row.optionalInteger(7)
        (sendID, sends) = (row.string(3), Int(row.integer(4)))
        (keyID, digest) = (row.string(8), row.bytes(9))
        answer = row.optionalBytes(10).map { Answer(sealed: $0, keyID: row.string(11)) }
    }
}
