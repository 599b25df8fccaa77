import Access
import JSON
import Primitives

/// The erasures in progress: one row per person, with how far the logs and the stored responses have been searched.
///
/// If the person has open orders or routes, the row remains after the search, without texts, until these have ended.
struct ErasureTable {
    struct Erasure {
        let person: Identity
        /// The account that a driver had.
        let accountID: ObjectID?
        let requestedAt: Int64
        /// The id of the last notification to search.
        let lastID: String
        var progress: Progress
        /// The person's names and addresses to replace; empty when the search is done.
        var texts: [String]
        /// Whether the search has found some of the texts itself. Then what was searched before is searched again.
        var hasFoundTexts: Bool
        /// The deliveries of notifications for all drivers are deleted up to this sequence number.
        let broadcastCursor: Int64
        /// The same of those on the person's own channel.
        let deliveryCursor: Int64
    }

    /// How far a search has come: the last row of each table that was searched; empty and 0 at the start.
    struct Progress: Equatable {
        /// The id of a notification; `~` when the search is done.
        var notification = ""
        /// When a response was stored, in milliseconds since 1970.
        var response: Int64 = 0
        /// The id of an audit entry.
        var audit = ""
        var step = NotificationStepTable.Key()
    }

    /// ``Progress/notification`` of erasures whose search is done. It is not an id and sorts after every id: an id is a
    /// ULID, which consists of digits and capital letters.
    private static let searched = "~"
    private static let select = """
        SELECT role, id, requested_at, cursor, last_id, answers_to, names, audit_cursor, step_cursor, has_found, \
        broadcast_cursor, account_id, delivery_cursor FROM erasures
        """

    let database: Database

    /// Adds an erasure. If the person already has one, it starts again from the beginning.
    /// - Parameters:
    ///   - texts: the person's names and addresses. Those that an unfinished erasure of the same person has stored are
    ///     kept, too.
    ///   - lastID: the id of the last notification to search.
    ///   - account: that of a driver who had one.
    func add(
        _ person: Identity, account: ObjectID? = nil, texts: [String], lastID: String, now: Int64
    ) throws(DatabaseError) {
        let known =
            try database.first(
                "SELECT names FROM erasures WHERE subject = ?", .string(person.key), as: { Self.texts($0.bytes(0)) }) ?? []
        try database.change(
            """
            INSERT INTO erasures (subject, role, id, requested_at, cursor, last_id, answers_to, names, account_id) \
            VALUES (?, ?, ?, ?, '', ?, 0, ?, ?) ON CONFLICT (subject) DO UPDATE SET requested_at = excluded.requested_at, \
            broadcast_cursor = 0, delivery_cursor = 0, account_id = COALESCE(excluded.account_id, erasures.account_id)
            """, .string(person.key), .string(person.role.rawValue), .string(person.id), .integer(now), .string(lastID),
            .utf8(Self.json(texts + known)), .string(account?.text))
        try restart(person, texts: texts + known, lastID: lastID)
    }

    /// The oldest erasure whose search is not done; nil if there is none.
    func first() throws(DatabaseError) -> Erasure? {
        try database.first(Self.selectFirst, .string(Self.searched), as: Erasure.init(row:))
    }

    private static let selectFirst = SQL("\(select) WHERE cursor <> ? ORDER BY requested_at, subject LIMIT 1")

    /// At most `most` of the erasures whose search is done, and which wait until the orders and routes that were open at the
    /// time of the request have ended: the next after a person's, by ``Identity/key``.
    func waiting(after key: String, most: Int) throws(DatabaseError) -> [Erasure] {
        try database.all(
            Self.selectWaiting, .string(Self.searched), .string(key), .integer(most), as: Erasure.init(row:))
    }

    private static let selectWaiting = SQL("\(select) WHERE cursor = ? AND subject > ? ORDER BY subject LIMIT ?")

    /// Restarts a search from the beginning.
    func restart(_ person: Identity, texts: [String], lastID: String) throws(DatabaseError) {
        try database.change(
            "UPDATE erasures SET last_id = ? WHERE subject = ?", .string(lastID), .string(person.key))
        try store(Progress(), texts: texts, hasFoundTexts: false, of: person)
    }

    /// Stores the progress of a search.
    func store(
        _ progress: Progress, texts: [String], hasFoundTexts: Bool, of person: Identity
    ) throws(DatabaseError) {
        let step = progress.step
        try database.change(
            """
            UPDATE erasures SET cursor = ?, answers_to = ?, audit_cursor = ?, step_cursor = ?, names = ?, has_found = ? \
            WHERE subject = ?
            """, .string(progress.notification), .integer(progress.response), .string(progress.audit),
            .utf8(Self.json([step.notificationID, step.step, step.subject])), .utf8(Self.json(texts)),
            .integer(hasFoundTexts ? 1 : 0), .string(person.key))
    }

    /// Stores how far the deliveries of notifications for all drivers are deleted.
    func advanceBroadcasts(to sequence: Int64, of person: Identity) throws(DatabaseError) {
        try database.change(
            "UPDATE erasures SET broadcast_cursor = ? WHERE subject = ?", .integer(sequence), .string(person.key))
    }

    /// The same of those on the person's own channel.
    func advanceDeliveries(to sequence: Int64, of person: Identity) throws(DatabaseError) {
        try database.change(
            "UPDATE erasures SET delivery_cursor = ? WHERE subject = ?", .integer(sequence), .string(person.key))
    }

    /// Marks the search as done, and deletes the texts. For an erasure that must wait because an order or route of the
    /// person is still open.
    func markWaiting(_ person: Identity) throws(DatabaseError) {
        try store(Progress(notification: Self.searched), texts: [], hasFoundTexts: false, of: person)
    }

    func remove(_ person: Identity) throws(DatabaseError) {
        try database.change("DELETE FROM erasures WHERE subject = ?", .string(person.key))
    }

    private static func json(_ texts: [String]) -> [UInt8] {
        var json = JSONWriter()
        json.array(texts)
        return json.bytes
    }

    fileprivate static func texts(_ json: [UInt8]) -> [String] {
        var texts: [String] = []
        // If the JSON is not an array, there are no texts. That does not occur: `json(_:)` writes only arrays.
        try? json.withUnsafeBytes { bytes in
            try JSONReader.array(bytes) { if let text = $0.string { texts.append(text) } }
        }
        return texts
    }
}

extension ErasureTable.Erasure {
    fileprivate init(row: Row) throws(DatabaseError) {
        guard let role = Role(rawValue: row.string(0)) else {
            throw .unreadable("the role '\(row.string(0))'", doing: row.sql)
        }
        let step = ErasureTable.texts(row.bytes(8))
        self.init(
            person: Identity(role: role, id: row.string(1)), accountID: row.optionalString(11).flatMap { ObjectID($0) },
            requestedAt: row.integer(2), lastID: row.string(4),
            progress: ErasureTable.Progress(
                notification: row.string(3), response: row.integer(5), audit: row.string(7),
                step: step.count == 3 ? .init(notificationID: step[0], step: step[1], subject: step[2]) : .init()),
            texts: ErasureTable.texts(row.bytes(6)), hasFoundTexts: row.integer(9) == 1, broadcastCursor: row.integer(10),
            deliveryCursor: row.integer(12))
    }
}
