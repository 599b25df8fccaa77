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
    private static let select = "SELECT \(Erasure.columnList) FROM erasures"

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

    fileprivate static func json(_ texts: [String]) -> [UInt8] {
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

extension ErasureTable.Erasure: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try Self(
            person: Identity(role: column("role", \.person.role), id: column("id", \.person.id)),
            accountID: column("account_id", \.accountID), requestedAt: column("requested_at", \.requestedAt),
            lastID: column("last_id", \.lastID), progress: column.part(\.progress),
            texts: column("names", \.texts, as: .json), hasFoundTexts: column("has_found", \.hasFoundTexts),
            broadcastCursor: column("broadcast_cursor", \.broadcastCursor),
            deliveryCursor: column("delivery_cursor", \.deliveryCursor))
    }
}

extension Role: ColumnValue {}

extension ErasureTable.Progress: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try Self(
            notification: column("cursor", \.notification), response: column("answers_to", \.response),
            audit: column("audit_cursor", \.audit), step: column("step_cursor", \.step, as: .json))
    }
}

extension ColumnForm<[String]> {
    fileprivate static var json: ColumnForm {
        ColumnForm(sqlValue: { .utf8(ErasureTable.json($0)) }, read: { ErasureTable.texts($0.bytes($1)) }, blank: [])
    }
}

extension ColumnForm<NotificationStepTable.Key> {
    fileprivate static var json: ColumnForm {
        ColumnForm(
            sqlValue: { .utf8(ErasureTable.json([$0.notificationID, $0.step, $0.subject])) },
            read: { row, column in
                let texts = ErasureTable.texts(row.bytes(column))
                return texts.count == 3 ? .init(notificationID: texts[0], step: texts[1], subject: texts[2]) : .init()
            }, blank: .init())
    }
}
