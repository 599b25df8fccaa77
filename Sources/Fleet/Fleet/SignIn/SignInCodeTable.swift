/// Sign-ins by code that have begun, what was sent, and what was tried. Nothing here is in clear but the phone.
struct SignInCodeTable {
    static let table = Table<Stored>("code_sessions", key: ["id"], constant: ["phone", "is_own"])
    static let sends = Table<Send>("code_sends", key: ["id"])

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

    func session(id: String) throws(DatabaseError) -> Stored? {
        try database.first(Self.selectByID, .string(id), as: Stored.init(row:))
    }

    /// The session whose code was sent last, at `until` at the latest: later ones stem from before a clock correction.
    func newest(ofPhone phone: String, isOwn: Bool, until: Int64) throws(DatabaseError) -> Stored? {
        try database.first(Self.selectNewest, .string(phone), .flag(isOwn), .integer(until), as: Stored.init(row:))
    }

    private static let selectByID = table.select("WHERE id = ?")
    private static let selectNewest = table.select(
        "WHERE phone = ? AND is_own = ? AND sent_at <= ? ORDER BY sent_at DESC LIMIT 1")

    /// Inserts or updates a session.
    func store(_ stored: Stored) throws(DatabaseError) {
        try database.change(Self.table.upsert, Self.table.values(of: stored))
    }

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
        try database.change(Self.sends.insert, Self.sends.values(of: send))
    }

    /// Removes an SMS that could not be sent.
    /// - Returns: nil if it is not stored any more.
    func removeSend(_ id: String) throws(DatabaseError) -> Send? {
        try database.first(Self.deleteSend, .string(id), as: Send.init(row:))
    }

    private static let deleteSend = SQL("DELETE FROM code_sends WHERE id = ? RETURNING \(Send.columnList)")

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

extension SignInCodeTable.Stored: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try Self(
            session: column.part(\.session), sendID: column("send_id", \.sendID), sends: column("sends", \.sends),
            keyID: column("key_id", \.keyID), digest: column("digest", \.digest), answer: column.part(orNull: \.answer))
    }
}

extension SignInCodeTable.Stored.Answer: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try Self(sealed: column("answer", \.sealed), keyID: column("answer_key_id", \.keyID))
    }
}

extension SignInCodeSession: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        var session = try SignInCodeSession(
            id: column("id", \.id), phone: column("phone", \.phone), isOwn: column("is_own", \.isOwn),
            now: column("sent_at", \.sentAt))
        try column("delivery", \.smsState, in: &session)
        try column("tries_left", \.triesLeft, in: &session)
        try column("verified_at", \.verifiedAt, in: &session)
        return session
    }
}

extension SignInCodeSession.SMSState: ColumnValue {}

extension SignInCodeTable.Send: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try Self(
            id: column("id", \.id), phone: column("phone", \.phone), isOwn: column("is_own", \.isOwn), at: column("at", \.at),
            prefix: column("prefix", \.prefix), address: column("address", \.address))
    }
}
