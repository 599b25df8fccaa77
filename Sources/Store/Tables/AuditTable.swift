import FleetRules

/// Who did what when.
struct AuditTable {
    private static let columns = """
        id, at, actor, action, order_code, route_id, correlation_id, status_before, driver_before, status_after, \
        driver_after, reason, details
        """

    private let database: Database
    private let insert: Statement
    private let selectOrder: Statement
    private let selectRoute: Statement
    private let clearDetails: Statement
    private let deleteOld: Statement

    init(_ database: Database) throws(DatabaseError) {
        self.database = database
        insert = try Statement(
            "INSERT INTO audit (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", on: database)
        selectOrder = try Statement("SELECT \(Self.columns) FROM audit WHERE order_code = ? ORDER BY id", on: database)
        selectRoute = try Statement("SELECT \(Self.columns) FROM audit WHERE route_id = ? ORDER BY id", on: database)
        clearDetails = try Statement(Self.clearDetails, on: database)
        deleteOld = try Statement(
            "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ? ORDER BY at LIMIT ?)", on: database)
    }

    static let clearDetails = "UPDATE audit SET details = NULL WHERE actor = ? AND action = 'progress' AND details IS NOT NULL"

    /// Forgets the notes and positions in somebody's progress reports, and that is all that their details hold; answers how
    /// many reports.
    func clearDetails(of actor: String) throws(DatabaseError) -> Int { try clearDetails.change(.string(actor)) }

    /// The greatest there is; nil when there is none.
    func lastID() throws(DatabaseError) -> String? { try Statement.lastID(of: "audit", on: database) }

    /// - Parameter id: greater than all before it: it is what the entries are sorted by.
    func append(_ entry: AuditEntry, id: String) throws(DatabaseError) {
        var order: String?
        var route: String?
        switch entry.subject {
        case .order(let code): order = code
        case .route(let id): route = id
        case .fleet: break
        }
        try insert.run(
            .string(id), .integer(entry.at), .string(entry.actor), .string(entry.action), .string(order), .string(route),
            .string(entry.correlationID), .string(entry.before?.status.rawValue), .string(entry.before?.driverID),
            .string(entry.after?.status.rawValue), .string(entry.after?.driverID), .string(entry.reason), .utf8(entry.details))
    }

    /// Oldest first.
    func entries(of subject: AuditEntry.Subject, _ each: (AuditEntry) -> Void) throws(DatabaseError) {
        let rows: (Row) throws(DatabaseError) -> Void = { row throws(DatabaseError) in each(try Self.entry(row)) }
        switch subject {
        case .order(let code): try selectOrder.each(.string(code), body: rows)
        case .route(let id): try selectRoute.each(.string(id), body: rows)
        case .fleet: break
        }
    }

    /// Forgets the oldest of those written before `cutoff`; answers how many.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try deleteOld.change(.integer(cutoff), .integer(most))
    }

    private static func entry(_ row: Row) throws(DatabaseError) -> AuditEntry {
        let order = row.optionalString(4).map { AuditEntry.Subject.order($0) }
        let route = row.optionalString(5).map { AuditEntry.Subject.route($0) }
        return AuditEntry(
            at: row.integer(1), actor: row.string(2), action: row.string(3), subject: order ?? route ?? .fleet,
            correlationID: row.string(6), before: try standing(row, status: 7), after: try standing(row, status: 9),
            reason: row.optionalString(11), details: row.optionalBytes(12))
    }

    /// The driver stands in the column behind the status.
    private static func standing(_ row: Row, status column: Int32) throws(DatabaseError) -> AuditEntry.State? {
        guard let status = try row.optionalStatus(column) else { return nil }
        return AuditEntry.State(status: status, driverID: row.optionalString(column + 1))
    }
}
