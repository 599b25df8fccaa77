/// The audit log: which user executed which action, and when.
struct AuditTable {
    static let table = Table<AuditEntry>("audit", key: ["id"], others: ["id"])

    let database: Database

    /// The greatest id; nil if the table is empty.
    func lastID() throws(DatabaseError) -> String? {
        try database.first("SELECT MAX(id) FROM audit", as: { $0.optionalString(0) })
    }

    /// The time of the oldest entry; nil if the table is empty.
    func firstTime() throws(DatabaseError) -> Int64? {
        try database.first("SELECT MIN(at) FROM audit", as: { $0.optionalInteger(0) })
    }

    /// Appends an entry.
    /// - Parameters:
    ///   - id: a ULID greater than the ids of all existing entries, because entries are read in id order.
    ///   - first: the id of the action's first notification; nil if it has none.
    func append(_ entry: AuditEntry, id: String, firstNotification first: String? = nil) throws(DatabaseError) {
        try database.change(Self.insert, Self.table.values(of: entry, .string(id), .string(first)))
    }

    private static let insert = SQL(
        """
        INSERT INTO audit (\(table.columnList), notification) \
        VALUES (\(table.placeholders), (SELECT number FROM notifications WHERE id = ?))
        """)

    /// The newest entry of an order, except reminders, which change nothing; nil if there is none.
    func last(ofOrder code: String) throws(DatabaseError) -> AuditEntry? {
        try database.first(Self.selectLastByOrder, .string(code), as: AuditEntry.init(row:))
    }

    private static let selectLastByOrder = table.select(
        "WHERE order_code = ? AND action <> 'remind' ORDER BY id DESC LIMIT 1")

    /// What the log knows of an order's arrival, and how often its driver has taken one back in the present trip. The trip
    /// begins with the last report of `en_route`: ids only increase, times may not.
    func arrivalHistory(ofOrder code: String, by driver: String) throws(DatabaseError) -> ArrivalHistory {
        let receivedAt = try database.first(Self.selectArrival, .string(code), as: { $0.integer(0) })
        let start = try database.first(Self.selectStart, .string(code), as: { $0.string(0) })
        let count = try database.first(
            Self.countUndone, .string(code), .string(driver), .string(start ?? ""), as: { $0.integer(0) })
        return ArrivalHistory(receivedAt: receivedAt, undoCount: Int(count ?? 0))
    }

    private static let selectArrival = SQL(
        """
        SELECT at FROM audit WHERE order_code = ? AND status_before = 'en_route' AND status_after = 'arrived' \
        ORDER BY id DESC LIMIT 1
        """)

    private static let selectStart = SQL(
        """
        SELECT id FROM audit WHERE order_code = ? AND action = 'progress' AND status_after = 'en_route' \
        ORDER BY id DESC LIMIT 1
        """)

    private static let countUndone = SQL(
        "SELECT COUNT(*) FROM audit WHERE order_code = ? AND action = 'correct' AND actor = ? AND id > ?")

    /// Calls `each` for every entry of an order, a route, an account or a batch, oldest first. Does nothing for `.fleet`,
    /// which is none of them.
    func entries(of subject: AuditEntry.Subject, _ each: (AuditEntry) -> Void) throws(DatabaseError) {
        let body: (Row) throws(DatabaseError) -> Void = { row throws(DatabaseError) in each(try AuditEntry(row: row)) }
        switch subject {
        case .order(let code): try database.each(Self.selectByOrder, .string(code), body: body)
        case .route(let id): try database.each(Self.selectByRoute, .string(id), body: body)
        case .account(let id): try database.each(Self.selectByAccount, .string(id), body: body)
        case .batch(let id): try database.each(Self.selectByBatch, .string(id), body: body)
        case .fleet: break
        }
    }

    private static let selectByAccount = table.select("WHERE account_id = ? ORDER BY id")
    private static let selectByBatch = table.select("WHERE batch_id = ? ORDER BY id")
    private static let selectByOrder = table.select("WHERE order_code = ? ORDER BY id")
    private static let selectByRoute = table.select("WHERE route_id = ? ORDER BY id")

    /// Clears the details of a user's progress reports, and of what a driver has reported of batches. These details contain
    /// notes and positions.
    /// - Returns: the number of reports that had details.
    func clearDetails(of actor: String, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            UPDATE audit SET details = NULL, has_position = 0 WHERE id IN (SELECT id FROM audit WHERE actor = ? \
            AND details IS NOT NULL \
            AND (action IN ('progress', 'correct') OR batch_id IS NOT NULL AND action IN ('pickup', 'status', 'complete')) LIMIT ?)
            """, .string(actor), .integer(most))
    }

    // MARK: Positions

    /// An entry whose details contain a position.
    struct PositionRow {
        let id: String
        let details: [UInt8]?
    }

    /// The entries with positions that were written before `cutoff`, the oldest first, at most `most`.
    func positions(before cutoff: Int64, most: Int) throws(DatabaseError) -> [PositionRow] {
        try database.all(
            "SELECT id, details FROM audit WHERE has_position = 1 AND at < ? ORDER BY at LIMIT ?", .integer(cutoff),
            .integer(most), as: { PositionRow(id: $0.string(0), details: $0.optionalBytes(1)) })
    }

    /// The entries with positions about a driver whom the gateway itself has found at the pickup.
    func arrivals(ofDriver id: String, most: Int) throws(DatabaseError) -> [PositionRow] {
        try database.all(
            "SELECT id, details FROM audit WHERE has_position = 1 AND driver_after = ? AND actor = ? LIMIT ?", .string(id),
            .string(DispatchPlanner.actor), .integer(most), as: { PositionRow(id: $0.string(0), details: $0.optionalBytes(1)) })
    }

    /// Replaces an entry's details by others without a position.
    func removePosition(of id: String, details: [UInt8]?) throws(DatabaseError) {
        try database.change(
            "UPDATE audit SET details = ?, has_position = 0 WHERE id = ?", .utf8(details), .string(id))
    }

    // MARK: Redaction

    /// The parts of an entry that may contain names and addresses.
    struct RedactionRow {
        let id: String
        let reason: String?
        let details: [UInt8]?
    }

    /// At most `most` entries with ids greater than `after`, in id order.
    func rowsToRedact(after: String, most: Int) throws(DatabaseError) -> [RedactionRow] {
        try database.all(
            "SELECT id, reason, details FROM audit WHERE id > ? ORDER BY id LIMIT ?", .string(after), .integer(most),
            as: { row in RedactionRow(id: row.string(0), reason: row.optionalString(1), details: row.optionalBytes(2)) })
    }

    func replace(reason: String?, details: [UInt8]?, of id: String) throws(DatabaseError) {
        try database.change(
            "UPDATE audit SET reason = ?, details = ? WHERE id = ?", .string(reason), .utf8(details), .string(id))
    }

    // MARK: Retention

    /// Deletes entries written before `cutoff`, the oldest first, at most `most`.
    /// - Returns: the number of deleted entries.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ? ORDER BY at LIMIT ?)",
            .integer(cutoff), .integer(most))
    }
}

extension AuditEntry: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<AuditEntry>) throws(DatabaseError) -> AuditEntry {
        try AuditEntry(
            at: column("at", \.at), actor: column("actor", \.actor), action: column("action", \.action),
            subject: column.part(\.subject), correlationID: column("correlation_id", \.correlationID),
            before: column.part(orNull: \.before) { "\($0)_before" }, after: column.part(orNull: \.after) { "\($0)_after" },
            reason: column("reason", \.reason), details: column("details", \.details, as: .utf8),
            containsPosition: column("has_position", \.containsPosition))
    }
}

extension AuditEntry.Subject: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        let order = try column("order_code", \.order).map(Self.order)
        let route = try column("route_id", \.route).map(Self.route)
        let account = try column("account_id", \.account).map(Self.account)
        let batch = try column("batch_id", \.batch).map(Self.batch)
        return order ?? route ?? account ?? batch ?? .fleet
    }

    private var order: String? { if case .order(let code) = self { code } else { nil } }
    private var route: String? { if case .route(let id) = self { id } else { nil } }
    private var account: String? { if case .account(let id) = self { id } else { nil } }
    private var batch: String? { if case .batch(let id) = self { id } else { nil } }
}

extension AuditEntry.State: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try Self(status: column("status", \.status), driverID: column("driver", \.driverID))
    }
}
