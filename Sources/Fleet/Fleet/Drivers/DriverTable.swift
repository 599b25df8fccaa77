/// The cards of drivers. Only the erasure of the driver deletes a card.
struct DriverTable {
    static let table = Table<DriverCard>(
        "drivers", key: ["id"], others: ["created_at", "updated_at"], constant: ["created_at"])

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

    private static let selectByID = table.select("WHERE id = ?")

    /// Inserts or updates a card.
    func store(_ card: DriverCard, now: Int64) throws(DatabaseError) {
        try database.change(Self.table.upsert, Self.table.values(of: card, .integer(now), .integer(now)))
    }

    func remove(ofDriver id: String) throws(DatabaseError) {
        try database.change("DELETE FROM drivers WHERE id = ?", .string(id))
    }
}

extension DriverCard: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<DriverCard>) throws(DatabaseError) -> DriverCard {
        var card = DriverCard(id: try column("id", \.id))
        try column("version", \.version, in: &card)
        try column("name", \.name, in: &card)
        try column("phone_number", \.phoneNumber, in: &card)
        try column("vehicle_make", \.vehicleMake, in: &card)
        try column("vehicle_model", \.vehicleModel, in: &card)
        try column("vehicle_color", \.vehicleColor, in: &card)
        try column("license_plate", \.licensePlate, in: &card)
        return card
    }
}
