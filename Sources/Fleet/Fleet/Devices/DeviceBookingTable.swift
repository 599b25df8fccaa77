/// The bookings of customers, for pushes to the customers of a booking. A customer's bookings are those in the newest JWT
/// with which the customer registered a device.
struct DeviceBookingTable {
    /// The most bookings stored per customer.
    static let bookingsMax = 100
    /// The most customers of a booking who get its pushes, and who find them in their inboxes: more than a household or an
    /// office has. Their pushes share ``PushOutbox/bookingDevicesMax``.
    static let ownersMax = 50

    let database: Database

    /// The ``Identity/key``s of a booking's customers, ``ownersMax`` at most.
    /// - Returns: also whether the booking has more.
    func owners(of reference: String) throws(DatabaseError) -> (owners: ArraySlice<String>, areAll: Bool) {
        let owners = try database.all(
            Self.selectOwners, .string(reference), .integer(Self.ownersMax + 1), as: { $0.string(0) })
        return (owners.prefix(Self.ownersMax), owners.count <= Self.ownersMax)
    }

    func prefetchOwners(of reference: String) throws(DatabaseError) {
        try database.prefetch(Self.selectOwners, .string(reference), .integer(Self.ownersMax + 1))
    }

    private static let selectOwners: SQL = "SELECT owner FROM device_bookings WHERE reference = ? ORDER BY owner LIMIT ?"

    /// Replaces a customer's bookings with the last hundred of `references`: the newest usually come last. Keeps bookings
    /// of a token that was issued later: a customer's phones may have tokens of different ages.
    /// - Parameter issuedAt: when the token with the list was issued, in milliseconds since 1970; nil if it does not say.
    func replace(of owner: String, by references: [String], issuedAt: Int64?) throws(DatabaseError) {
        if let issuedAt, let stored = try self.issuedAt(of: owner), stored > issuedAt { return }
        try remove(of: owner)
        try database.change(
            "INSERT INTO device_booking_lists (owner, issued_at) VALUES (?, ?)", .string(owner),
            issuedAt.map { .integer($0) } ?? .null)
        for reference in references.suffix(Self.bookingsMax) {
            try database.change(
                "INSERT INTO device_bookings (reference, owner) VALUES (?, ?) ON CONFLICT (reference, owner) DO NOTHING",
                .string(reference), .string(owner))
        }
    }

    private func issuedAt(of owner: String) throws(DatabaseError) -> Int64? {
        try database.first(
            "SELECT issued_at FROM device_booking_lists WHERE owner = ?", .string(owner), as: { $0.optionalInteger(0) })
    }

    /// Removes a customer's bookings if the customer has no devices.
    /// - Parameter owner: ``Identity/key`` of the customer.
    func removeIfNoDevices(_ owner: String) throws(DatabaseError) {
        let device = try database.first("SELECT 1 FROM devices WHERE owner = ? LIMIT 1", .string(owner), as: { $0.integer(0) })
        if device == nil { try remove(of: owner) }
    }

    func remove(of owner: String) throws(DatabaseError) {
        try database.change("DELETE FROM device_bookings WHERE owner = ?", .string(owner))
        try database.change("DELETE FROM device_booking_lists WHERE owner = ?", .string(owner))
    }
}
