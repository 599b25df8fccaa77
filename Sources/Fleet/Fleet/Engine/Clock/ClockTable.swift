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

    static let table = Table<ClockReading>("clock_readings", key: ["name"], others: ["name"])

    let database: Database

    func reading(_ name: Name) throws(DatabaseError) -> ClockReading? {
        try database.first(Self.selectByName, .string(name.rawValue), as: ClockReading.init(row:))
    }

    private static let selectByName = table.select("WHERE name = ?")

    /// Inserts or replaces a reading.
    func store(_ reading: ClockReading, as name: Name) throws(DatabaseError) {
        try database.change(Self.table.upsert, Self.table.values(of: reading, .string(name.rawValue)))
    }

    func remove(_ name: Name) throws(DatabaseError) {
        try database.change("DELETE FROM clock_readings WHERE name = ?", .string(name.rawValue))
    }
}

extension ClockReading: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<ClockReading>) throws(DatabaseError) -> ClockReading {
        try ClockReading(
            wall: column("wall", \.wall), uptime: column("uptime", \.uptime), bootID: column("boot_id", \.bootID))
    }
}
