/// Sign-ins by code that have begun, what was sent, and what was tried. Nothing here is in clear but the phone.
struct SignInCodeTable {
    let database: Database

    struct Stored {
        var session: SignInCodeSession
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
        id, phone, delivery, send_id, sends, sent_at, tries_left, verified_at, key_id, digest, answer, answer_key_id, is_own
        """

    func session(id: String) throws(DatabaseError) -> Stored? {
        try database.first(Self.selectByID, .string(id), as: Stored.init(row:))
    }

    /// The session whose code was sent last, at `until` at the latest: later ones stem from before a clock correction.
    func newest(ofPhone phone: String, isOwn: Bool, until: Int64) throws(DatabaseError) -> Stored? {
        try database.first(Self.selectNewest, .string(phone), .flag(isOwn), .integer(until), as: Stored.init(row:))
    }

    private static let selectByID = SQL("SELECT \(columns) FROM code_sessions WHERE id = ?")
    private static let selectNewest = SQL(
        "SELECT \(columns) FROM code_sessions WHERE phone = ? AND is_own = ? AND sent_at <= ? ORDER BY sent_at DESC LIMIT 1")

    /// Inserts or updates a session.
    func store(_ stored: Stored) throws(DatabaseError) {
        let session = stored.session
        try database.change(
            Self.upsert, .string(session.id), .string(session.phone), .string(session.smsState.rawValue),
            .string(stored.sendID), .integer(stored.sends), .integer(session.sentAt), .integer(session.triesLeft),
            .integer(session.verifiedAt), .string(stored.keyID), .blob(stored.digest),
            stored.answer.map { .blob($0.sealed) } ?? .null, .string(stored.answer?.keyID), .flag(session.isOwn))
    }

    private static let upsert = SQL(
        """
        INSERT INTO code_sessions (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET \
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

    /// An SMS.
    struct Send {
        /// See ``Stored/sendID``.
        let id: String
        let phone: String
        /// See ``SignInCodeSession/isOwn``.
        let isOwn: Bool
        /// Milliseconds since 1970.
        let at: Int64
        /// If the phone had no account: what the SMS counts for.
        let prefix: String?
        let address: String?
    }

    func addSend(_ send: Send) throws(DatabaseError) {
        try database.change(
            "INSERT INTO code_sends (id, phone, is_own, at, prefix, address) VALUES (?, ?, ?, ?, ?, ?)", .string(send.id),
            .string(send.phone), .flag(send.isOwn), .integer(send.at), .string(send.prefix), .string(send.address))
    }

    /// Removes an SMS that could not be sent.
    /// - Returns: nil if it is not stored any more.
    func removeSend(_ id: String) throws(DatabaseError) -> Send? {
        try database.first(
            "DELETE FROM code_sends WHERE id = ? RETURNING phone, is_own, at, prefix, address", .string(id),
            as: {
                Send(
                    id: id, phone: $0.string(0), isOwn: $0.integer(1) == 1, at: $0.integer(2), prefix: $0.optionalString(3),
                    address: $0.optionalString(4))
            })
    }

    /// When SMS were sent to a phone: at most ``SignInCodeLimits/dayMax`` times in a day.
    func sends(toPhone phone: String, isOwn: Bool, since: Int64) throws(DatabaseError) -> [Int64] {
        try database.all(
            "SELECT at FROM code_sends WHERE phone = ? AND is_own = ? AND at > ?", .string(phone), .flag(isOwn),
            .integer(since), as: { $0.integer(0) })
    }

    /// Records a wrong code.
    func addTry(_ id: String, phone: String, isOwn: Bool, at now: Int64) throws(DatabaseError) {
        try database.change(
            "INSERT INTO code_tries (id, phone, is_own, at) VALUES (?, ?, ?, ?)", .string(id), .string(phone), .flag(isOwn),
            .integer(now))
    }

    /// When wrong codes were tried for a phone.
    func tries(forPhone phone: String, isOwn: Bool, since: Int64) throws(DatabaseError) -> [Int64] {
        try database.all(
            "SELECT at FROM code_tries WHERE phone = ? AND is_own = ? AND at > ?", .string(phone), .flag(isOwn),
            .integer(since), as: { $0.integer(0) })
    }

    // MARK: Deletion

    /// Deletes what is stored about a phone. The SMS still count for the limit of all phones (``SignInCodeLimitTable``).
    func erase(phone: String) throws(DatabaseError) {
        try database.change("DELETE FROM code_sessions WHERE phone = ?", .string(phone))
        try database.change("DELETE FROM code_tries WHERE phone = ?", .string(phone))
        try database.change("DELETE FROM code_sends WHERE phone = ?", .string(phone))
    }

    /// Deletes at most `most` sessions, SMS and tries each that matter no more.
    /// - Returns: the number of deleted rows.
    func deleteExpired(now: Int64, most: Int) throws(DatabaseError) -> Int {
        var count = try database.changeCountingRows(
            """
            DELETE FROM code_sessions WHERE id IN (SELECT id FROM code_sessions WHERE sent_at <= ? ORDER BY sent_at LIMIT ?)
            """, .integer(now - SignInCodeSession.keptTime), .integer(most))
        count += try database.changeCountingRows(
            """
            DELETE FROM code_sessions WHERE id IN (SELECT id FROM code_sessions WHERE verified_at IS NOT NULL \
            AND verified_at <= ? LIMIT ?)
            """, .integer(now - SignInCodeSession.repetitionTime), .integer(most))
        let day = SQLValue.integer(now - SignInCodeLimits.day)
        count += try database.changeCountingRows(
            "DELETE FROM code_sends WHERE id IN (SELECT id FROM code_sends WHERE at <= ? ORDER BY at LIMIT ?)", day,
            .integer(most))
        count += try database.changeCountingRows(
            "DELETE FROM code_tries WHERE id IN (SELECT id FROM code_tries WHERE at <= ? ORDER BY at LIMIT ?)", day,
            .integer(most))
        return count
    }
}

extension SignInCodeTable.Stored {
    fileprivate init(row: Row) throws(DatabaseError) {
        guard let smsState = SignInCodeSession.SMSState(rawValue: row.string(2)) else {
            throw .unreadable("the delivery '\(row.string(2))'", doing: row.sql)
        }
        session = SignInCodeSession(
            id: row.string(0), phone: row.string(1), isOwn: row.integer(12) == 1, now: row.integer(5))
        session.smsState = smsState
        session.triesLeft = Int(row.integer(6))
        session.verifiedAt = row.optionalInteger(7)
        (sendID, sends) = (row.string(3), Int(row.integer(4)))
        (keyID, digest) = (row.string(8), row.bytes(9))
        answer = row.optionalBytes(10).map { Answer(sealed: $0, keyID: row.string(11)) }
    }
}
