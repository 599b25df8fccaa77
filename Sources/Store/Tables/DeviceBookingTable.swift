/// The bookings of customers, for pushes to the customers of a booking. A customer's bookings are those in the JWT with
/// which the customer last registered a device.
struct DeviceBookingTable {
    /// The most bookings stored per customer.
    private static let bookingsMax = 100

    let database: Database

    /// The ``Identity/key``s of a booking's customers.
    func owners(of reference: String) throws(DatabaseError) -> [String] {
        try database.all(
            "SELECT owner FROM device_bookings WHERE reference = ? ORDER BY owner", .string(reference),
            as: { $0.string(0) })
    }

    /// Replaces a customer's bookings with the first hundred of `references`.
    func replace(of owner: String, by references: [String]) throws(DatabaseError) {
        try remove(of: owner)
        for reference in references.prefix(Self.bookingsMax) {
            try database.change(
                "INSERT INTO device_bookings (reference, owner) VALUES (?, ?) ON CONFLICT (reference, owner) DO NOTHING",
                .string(reference), .string(owner))
        }
    }

    /// Removes a customer's bookings if the customer has no devices.
    /// - Parameter owner: ``Identity/key`` of the customer.
    func removeIfNoDevices(_ owner: String) throws(DatabaseError) {
        try database.change(
            """
            DELETE FROM device_bookings WHERE owner = ? \
            AND NOT EXISTS (SELECT 1 FROM devices WHERE devices.owner = device_bookings.owner)
            """, .string(owner))
    }

    func remove(of owner: String) throws(DatabaseError) {
        try database.change("DELETE FROM device_bookings WHERE owner = ?", .string(owner))
    }
}
