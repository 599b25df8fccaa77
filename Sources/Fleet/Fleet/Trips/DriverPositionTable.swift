/// The newest position of each driver who has a job under way. The gateway has them in memory; the table is for its next
/// start.
struct DriverPositionTable {
    static let table = Table<DriverPosition>("driver_positions", key: ["driver_id"])

    let database: Database

    /// Calls `each` for every position that can be read: the driver's next position replaces one that cannot.
    func each(_ each: (DriverPosition) -> Void) throws(DatabaseError) {
        try database.each(Self.selectAll) { row throws(DatabaseError) in
            if let position = try? DriverPosition(row: row) { each(position) }
        }
    }

    private static let selectAll = table.select("")

    /// Inserts or updates a driver's position.
    func store(_ driver: DriverPosition) throws(DatabaseError) {
        try database.change(Self.table.upsert, Self.table.values(of: driver))
    }

    /// - Returns: whether the driver had a position.
    func remove(ofDriver id: String) throws(DatabaseError) -> Bool {
        try database.changeCountingRows("DELETE FROM driver_positions WHERE driver_id = ?", .string(id)) > 0
    }

    /// Deletes positions recorded before `cutoff`, the oldest first, at most `most`.
    /// - Returns: the number of deleted positions.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            DELETE FROM driver_positions WHERE driver_id IN (SELECT driver_id FROM driver_positions \
            WHERE recorded_at < ? ORDER BY recorded_at LIMIT ?)
            """, .integer(cutoff), .integer(most))
    }
}

extension DriverPosition: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<DriverPosition>) throws(DatabaseError) -> DriverPosition {
        try DriverPosition(driverID: column("driver_id", \.driverID), position: column.part(\.position))
    }
}

extension Position: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Position>) throws(DatabaseError) -> Position {
        var position = try Position(
            latitude: column("latitude", \.latitude), longitude: column("longitude", \.longitude),
            heading: column("heading", \.heading), accuracy: column("accuracy", \.accuracy),
            recordedAt: column("recorded_at", \.recordedAt))
        try column("speed", \.speed, in: &position)
        return position
    }
}
