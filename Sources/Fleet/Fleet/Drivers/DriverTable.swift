/// The cards of drivers. Only the erasure of the driver deletes a card.
struct DriverTable {
    let database: Database

    func card(ofDriver id: String) throws(DatabaseError) -> DriverCard? {
        try database.first(Self.selectByID, .string(id), as: DriverCard.init(row:))
    }

    /// The driver's card, with the name and the vehicle of the driver's account where it says nothing. Nil if there is
    /// neither.
    func shownCard(ofDriver id: String, _ accounts: AccountTable) throws(DatabaseError) -> DriverCard? {
        let card = try card(ofDriver: id)
        if let card, card.name != nil, card.vehicleModel != nil, card.licensePlate != nil { return card }
        guard let registration = try accounts.account(personID: id)?.registration else { return card }
        var shown = card ?? DriverCard(id: id)
        shown.name = shown.name ?? registration.name
        shown.vehicleModel = shown.vehicleModel ?? registration.vehicleName
        shown.licensePlate = shown.licensePlate ?? registration.vehicleNumber
        return shown
    }

    func prefetch(driverID: String) throws(DatabaseError) { try database.prefetch(Self.selectByID, .string(driverID)) }

    private static let selectByID: SQL = """
        SELECT id, version, name, phone_number, vehicle_make, vehicle_model, vehicle_color, license_plate FROM drivers \
        WHERE id = ?
        """

    /// Inserts or updates a card.
    func store(_ card: DriverCard, now: Int64) throws(DatabaseError) {
        try database.change(
            """
            INSERT INTO drivers (id, version, name, phone_number, vehicle_make, vehicle_model, vehicle_color, license_plate, \
            created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET \
            version = excluded.version, name = excluded.name, phone_number = excluded.phone_number, \
            vehicle_make = excluded.vehicle_make, vehicle_model = excluded.vehicle_model, \
            vehicle_color = excluded.vehicle_color, license_plate = excluded.license_plate, updated_at = excluded.updated_at
            """, card.values + [.integer(now), .integer(now)])
    }

    func remove(ofDriver id: String) throws(DatabaseError) {
        try database.change("DELETE FROM drivers WHERE id = ?", .string(id))
    }
}

extension DriverCard {
    /// The values of the columns that ``init(row:)`` reads.
    var values: [SQLValue] {
        [
            .string(id), .integer(version), .string(name), .string(phoneNumber), .string(vehicleMake), .string(vehicleModel),
            .string(vehicleColor), .string(licensePlate),
        ]
    }

    init(row: Row) {
        self.init(id: row.string(0))
        version = Int(row.integer(1))
        name = row.optionalString(2)
        phoneNumber = row.optionalString(3)
        vehicleMake = row.optionalString(4)
        vehicleModel = row.optionalString(5)
        vehicleColor = row.optionalString(6)
        licensePlate = row.optionalString(7)
    }
}
