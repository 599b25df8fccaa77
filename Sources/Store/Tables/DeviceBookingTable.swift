/// Whose bookings are whose, as tokens said when phones were registered.
struct DeviceBookingTable {
    /// Bookings kept for one person.
    private static let bookingsMax = 100

    private let select: Statement
    private let insert: Statement
    private let delete: Statement
    private let deleteIfNoDevices: Statement

    init(_ database: Database) throws(DatabaseError) {
        select = try Statement("SELECT owner FROM device_bookings WHERE reference = ? ORDER BY owner", on: database)
        insert = try Statement(
            "INSERT INTO device_bookings (reference, owner) VALUES (?, ?) ON CONFLICT (reference, owner) DO NOTHING",
            on: database)
        delete = try Statement("DELETE FROM device_bookings WHERE owner = ?", on: database)
        deleteIfNoDevices = try Statement(
            """
            DELETE FROM device_bookings WHERE owner = ? \
            AND NOT EXISTS (SELECT 1 FROM devices WHERE devices.owner = device_bookings.owner)
            """, on: database)
    }

    /// ``Identity/key`` of all whose booking it is.
    func owners(of reference: String) throws(DatabaseError) -> [String] {
        try select.all(.string(reference)) { row throws(DatabaseError) in row.string(0) }
    }

    /// Forgets what was known of somebody, and keeps these; beyond a hundred, the first hundred.
    func replace(of owner: String, by references: [String]) throws(DatabaseError) {
        try delete.run(.string(owner))
        for reference in references.prefix(Self.bookingsMax) { try insert.run(.string(reference), .string(owner)) }
    }

    /// Forgets the bookings of somebody who has no phone left.
    func removeIfNoDevices(_ owner: String) throws(DatabaseError) { try deleteIfNoDevices.run(.string(owner)) }

    func remove(of owner: String) throws(DatabaseError) { try delete.run(.string(owner)) }
}
