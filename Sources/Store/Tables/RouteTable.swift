import FleetRules

/// The routes, as they were last decided.
struct RouteTable {
    private static let columns = """
        id, status, driver_id, driver_name, version, route_number, bookings_count, drops_count, earnings_adjustment
        """

    private let selectID: Statement
    private let selectDriver: Statement
    private let upsert: Statement
    private let deleteFinal: Statement
    private let clearDriver: Statement
    private let selectNames: Statement
    private let hasOpen: Statement

    init(_ database: Database) throws(DatabaseError) {
        let select = "SELECT \(Self.columns), created_at FROM routes"
        selectID = try Statement("\(select) WHERE id = ?", on: database)
        selectDriver = try Statement(
            "\(select) WHERE driver_id = ? AND status NOT IN ('completed', 'cancelled') ORDER BY created_at, id", on: database)
        upsert = try Statement(
            """
            INSERT INTO routes (\(Self.columns), created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
            ON CONFLICT (id) DO UPDATE SET status = excluded.status, driver_id = excluded.driver_id, \
            driver_name = excluded.driver_name, version = excluded.version, route_number = excluded.route_number, \
            bookings_count = excluded.bookings_count, drops_count = excluded.drops_count, \
            earnings_adjustment = excluded.earnings_adjustment, updated_at = excluded.updated_at
            """, on: database)
        deleteFinal = try Statement(
            """
            DELETE FROM routes WHERE id IN (SELECT id FROM routes WHERE status IN ('completed', 'cancelled') \
            AND updated_at < ? ORDER BY updated_at LIMIT ?)
            """, on: database)
        clearDriver = try Statement(Self.clearDriver, on: database)
        selectNames = try Statement(
            "SELECT DISTINCT driver_name FROM routes WHERE driver_id = ? AND driver_name IS NOT NULL", on: database)
        hasOpen = try Statement(
            """
            SELECT 1 FROM routes WHERE driver_id = ? AND created_at <= ? AND status NOT IN ('completed', 'cancelled') LIMIT 1
            """, on: database)
    }

    static let clearDriver = "UPDATE routes SET driver_name = NULL WHERE driver_id = ? AND driver_name IS NOT NULL"

    func route(id: String) throws(DatabaseError) -> Route? {
        try selectID.first(.string(id)) { row throws(DatabaseError) in try Self.route(row) }
    }

    /// A driver's open ones with the time they became known, oldest first.
    func open(driverID: String) throws(DatabaseError) -> [(route: Route, createdAt: Int64)] {
        try selectDriver.all(.string(driverID)) { row throws(DatabaseError) in (try Self.route(row), row.integer(9)) }
    }

    func store(_ route: Route, now: Int64) throws(DatabaseError) {
        try upsert.run(
            .string(route.id), .string(route.status.rawValue), .string(route.driverID), .string(route.driverName),
            .integer(route.version), .string(route.routeNumber), .string(route.bookingsCount?.text),
            .string(route.dropsCount?.text), .string(route.earningsAdjustment?.text), .integer(now), .integer(now))
    }

    /// Forgets those that are over and untouched since `cutoff`; answers how many.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try deleteFinal.change(.integer(cutoff), .integer(most))
    }

    /// Forgets a driver's name; answers in how many routes it was.
    func clearName(ofDriver id: String) throws(DatabaseError) -> Int { try clearDriver.change(.string(id)) }

    func names(ofDriver id: String) throws(DatabaseError) -> [String] {
        try selectNames.all(.string(id)) { row throws(DatabaseError) in row.string(0) }
    }

    /// Whether something of his that was there at a moment is still open.
    func hasOpen(ofDriver id: String, since moment: Int64) throws(DatabaseError) -> Bool {
        try hasOpen.first(.string(id), .integer(moment)) { _ throws(DatabaseError) in true } ?? false
    }

    private static func route(_ row: Row) throws(DatabaseError) -> Route {
        var route = Route(id: row.string(0))
        route.status = try row.status(1)
        route.driverID = row.optionalString(2)
        route.driverName = row.optionalString(3)
        route.version = Int(row.integer(4))
        route.routeNumber = row.optionalString(5)
        route.bookingsCount = row.number(6)
        route.dropsCount = row.number(7)
        route.earningsAdjustment = row.number(8)
        return route
    }
}
