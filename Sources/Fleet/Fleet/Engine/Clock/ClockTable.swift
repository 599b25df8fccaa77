/// The saved readings of the clocks, one row each.
struct ClockTable {
    enum Name: String {
        /// ``TrustedClock/anchor``.
        case trusted
        /// ``TrustedClock/suspect``.
        case suspect
        /// A reading whose wall clock an operator has confirmed (``ClockConfirmation``).
        case confirmed
    }

    let database: Database

    func reading(_ name: Name) throws(DatabaseError) -> ClockReading? {
        try database.first(
            "SELECT wall, uptime, boot_id FROM clock_readings WHERE name = ?", .string(name.rawValue),
            as: { row in ClockReading(wall: row.integer(0), uptime: row.integer(1), bootID: row.string(2)) })
    }

    /// Inserts or replaces a reading.
    func store(_ reading: ClockReading, as name: Name) throws(DatabaseError) {
        try database.change(
            """
            INSERT INTO clock_readings (name, wall, uptime, boot_id) VALUES (?, ?, ?, ?) \
            ON CONFLICT (name) DO UPDATE SET wall = excluded.wall, uptime = excluded.uptime, boot_id = excluded.boot_id
            """, .string(name.rawValue), .integer(reading.wall), .integer(reading.uptime), .string(reading.bootID))
    }

    func remove(_ name: Name) throws(DatabaseError) {
        try database.change("DELETE FROM clock_readings WHERE name = ?", .string(name.rawValue))
    }
}
