/// The routes in their current state.
struct RouteTable {
    static let table = Table<Route>(
        "routes", key: ["id"], others: ["created_at", "updated_at"], constant: ["created_at"])

    let database: Database

    func route(id: String) throws(DatabaseError) -> Route? {
        try database.first(Self.selectByID, .string(id), as: Route.init(row:))
    }

    func prefetch(id: String) throws(DatabaseError) { try database.prefetch(Self.selectByID, .string(id)) }

    private static let selectByID = table.select("WHERE id = ?")

    /// A driver's open routes with their creation times, the newest ``OrderTable/listedMax``, oldest first.
    func open(driverID: String) throws(DatabaseError) -> [(route: Route, createdAt: Int64)] {
        try database.all(
            Self.selectOpenByDriver, .string(driverID), .integer(OrderTable.listedMax),
            as: { row throws(DatabaseError) in (try Route(row: row), row.integer(Self.table.end)) }
        ).reversed()
    }

    private static let selectOpenByDriver = table.select(
        "WHERE driver_id = ? AND status NOT IN ('completed', 'cancelled') ORDER BY created_at DESC, id DESC LIMIT ?",
        and: "created_at")

    /// At most `most` open routes, those that were changed longest ago first, after a position.
    func idle(after position: IdlePosition, most: Int) throws(DatabaseError) -> [(route: Route, position: IdlePosition)] {
        try database.all(
            Self.selectIdle, .integer(position.changedAt), .string(position.id), .integer(most),
            as: { row throws(DatabaseError) in
                let route = try Route(row: row)
                return (route, IdlePosition(changedAt: row.integer(Self.table.end), id: route.id))
            })
    }

    private static let selectIdle = table.select(
        "WHERE status NOT IN ('completed', 'cancelled') AND (updated_at, id) > (?, ?) ORDER BY updated_at, id LIMIT ?",
        and: "updated_at")

    /// Inserts or updates a route.
    func store(_ route: Route, now: Int64) throws(DatabaseError) {
        try database.change(Self.table.upsert, Self.table.values(of: route, .integer(now), .integer(now)))
    }

    /// Deletes at most `most` routes that have ended and were not updated since `cutoff`.
    /// - Returns: the number of deleted routes.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            DELETE FROM routes WHERE id IN (SELECT id FROM routes WHERE status IN ('completed', 'cancelled') \
            AND updated_at < ? ORDER BY updated_at LIMIT ?)
            """, .integer(cutoff), .integer(most))
    }

    // MARK: Erasure

    /// Clears a driver's name.
    /// - Returns: the number of routes that contained it.
    func clearName(ofDriver id: String, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            UPDATE routes SET driver_name = NULL WHERE id IN (SELECT id FROM routes WHERE driver_id = ? \
            AND driver_name IS NOT NULL LIMIT ?)
            """, .string(id), .integer(most))
    }

    /// The names that routes contain for a driver.
    func names(ofDriver id: String) throws(DatabaseError) -> [String] {
        try database.all(
            "SELECT DISTINCT driver_name FROM routes WHERE driver_id = ? AND driver_name IS NOT NULL", .string(id),
            as: { $0.string(0) })
    }

    /// True if the driver has an open route that was created at `moment` or earlier.
    func hasOpen(ofDriver id: String, createdUntil moment: Int64) throws(DatabaseError) -> Bool {
        try database.first(
            """
            SELECT 1 FROM routes WHERE driver_id = ? AND created_at <= ? \
            AND status NOT IN ('completed', 'cancelled') LIMIT 1
            """, .string(id), .integer(moment), as: { _ in true }) ?? false
    }
}

extension Route: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Route>) throws(DatabaseError) -> Route {
        var route = Route(id: try column("id", \.id))
        route.assignment = try column.part(\.assignment)
        try column("route_number", \.routeNumber, in: &route)
        try column("bookings_count", \.bookingsCount, in: &route)
        try column("drops_count", \.dropsCount, in: &route)
        try column("earnings_adjustment", \.earningsAdjustment, in: &route)
        return route
    }
}
