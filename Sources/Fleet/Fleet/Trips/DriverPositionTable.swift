/// The newest position of each driver who has a job under way. The gateway has them in memory; the table is for its next
/// start.
struct DriverPositionTable {
    let database: Database

    /// Calls `each` for every position.
    func each(_ each: (DriverPosition) -> Void) throws(DatabaseError) {
        try database.each("SELECT driver_id, latitude, longitude, heading, accuracy, recorded_at, speed FROM driver_positions") {
            row throws(DatabaseError) in
            if let position = DriverPosition(row: row) { each(position) }
        }
    }

    /// Inserts or updates a driver's position.
    func store(_ driver: DriverPosition) throws(DatabaseError) {
        try database.change(
            """
            INSERT INTO driver_positions (driver_id, latitude, longitude, heading, accuracy, recorded_at, speed) \
            VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (driver_id) DO UPDATE SET latitude = excluded.latitude, \
            longitude = excluded.longitude, heading = excluded.heading, accuracy = excluded.accuracy, \
            recorded_at = excluded.recorded_at, speed = excluded.speed
            """, driver.values)
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

extension DriverPosition {
    /// The values of the columns that ``init(row:)`` reads.
    var values: [SQLValue] {
        [
            .string(driverID), .string("\(position.latitude)"), .string("\(position.longitude)"),
            .string(position.heading.map { "\($0)" }), .string(position.accuracy.map { "\($0)" }),
            .integer(position.recordedAt), .string(position.speed.map { "\($0)" }),
        ]
    }

    /// Nil if the numbers cannot be read: the driver's next position replaces them.
    init?(row: Row) {
        guard let latitude = Double(row.string(1)), let longitude = Double(row.string(2)) else { return nil }
        self.init(
            driverID: row.string(0),
            position: Position(
                latitude: latitude, longitude: longitude, heading: row.optionalString(3).flatMap(Double.init),
                accuracy: row.optionalString(4).flatMap(Double.init), speed: row.optionalString(6).flatMap(Double.init),
                recordedAt: row.integer(5)))
    }
}
