import JSON
import Primitives

/// Drivers' accounts. Only the erasure of the driver deletes one.
struct AccountTable {
    static let table = Table<Account>("accounts", key: ["id"], constant: ["uid", "created_at"])

    let database: Database

    // MARK: One account

    func account(uid: String) throws(DatabaseError) -> Account? {
        try database.first(Self.selectByUser, .string(uid), as: Account.init(row:))
    }

    func account(id: ObjectID) throws(DatabaseError) -> Account? {
        try database.first(Self.selectByID, .string(id.text), as: Account.init(row:))
    }

    func prefetch(personID: String) throws(DatabaseError) { try database.prefetch(Self.selectByPerson, .string(personID)) }

    /// The account of the driver who has this id in channels.
    func account(personID: String) throws(DatabaseError) -> Account? {
        try database.first(Self.selectByPerson, .string(personID), as: Account.init(row:))
    }

    func account(phone: String) throws(DatabaseError) -> Account? {
        try database.first(Self.selectByPhone, .string(phone), as: Account.init(row:))
    }

    /// Finds the account that an admin's request names: by its `_id`, or by the driver's id in channels.
    func account(ofDriver name: String) throws(DatabaseError) -> Account? {
        if let id = ObjectID(name), let account = try account(id: id) { return account }
        return try account(personID: name)
    }

    /// Returns the driver's id in channels. An admin's request contains that id, or the account's `_id`.
    func channelID(ofDriver name: String) throws(DatabaseError) -> String {
        guard let id = ObjectID(name), let account = try account(id: id) else { return name }
        return account.personID
    }

    private static let selectByUser = table.select("WHERE uid = ?")
    private static let selectByID = table.select("WHERE id = ?")
    private static let selectByPerson = table.select("WHERE person_id = ?")
    private static let selectByPhone = table.select("WHERE phone = ?")

    // MARK: Several accounts

    /// A page of the accounts, newest first.
    /// - Parameters:
    ///   - status: nil for all accounts.
    ///   - before: the page contains only accounts older than this one; nil to start with the newest.
    func newest(_ status: AccountStatus?, before: Account?, limit: Int) throws(DatabaseError) -> [Account] {
        let time = SQLValue.integer(before?.createdAt ?? .max)
        let id = SQLValue.string(before?.id.text ?? "")
        guard let status else {
            return try database.all(Self.selectNewest, time, id, .integer(limit), as: Account.init(row:))
        }
        return try database.all(
            Self.selectNewestByStatus, .string(status.rawValue), time, id, .integer(limit), as: Account.init(row:))
    }

    private static let selectNewest = table.select(
        "WHERE (created_at, id) < (?, ?) ORDER BY created_at DESC, id DESC LIMIT ?")
    private static let selectNewestByStatus = table.select(
        "WHERE status = ? AND (created_at, id) < (?, ?) ORDER BY created_at DESC, id DESC LIMIT ?")

    /// Calls `each` for every account, in the order of registration. Used at the start.
    func each(_ each: (Account) -> Void) throws(DatabaseError) {
        try database.each(Self.selectAll) { row throws(DatabaseError) in each(try Account(row: row)) }
    }

    private static let selectAll = table.select("ORDER BY created_at, id")

    // MARK: Changes

    /// Inserts or updates an account.
    func store(_ account: Account) throws(DatabaseError) {
        try database.change(Self.table.upsert, Self.table.values(of: account))
    }

    func remove(id: ObjectID) throws(DatabaseError) {
        try database.change("DELETE FROM accounts WHERE id = ?", .string(id.text))
    }
}

extension Account: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Account>) throws(DatabaseError) -> Account {
        var account = try Account(
            id: column("id", \.id), uid: column("uid", \.uid), personID: column("person_id", \.personID),
            phone: column("phone", \.phone), column.part(\.registration), createdAt: column("created_at", \.createdAt))
        try column("status", \.status, in: &account)
        try column("reason", \.reason, in: &account)
        try column("version", \.version, in: &account)
        try column("updated_at", \.updatedAt, in: &account)
        try column("last_login_at", \.lastLoginAt, in: &account)
        return account
    }
}

extension AccountStatus: ColumnValue {}

extension Registration: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Registration>) throws(DatabaseError) -> Registration {
        try Registration(
            name: column("name", \.name), email: column("email", \.email),
            profileImage: column("profile_image", \.profileImage), licenseNumber: column("license_number", \.licenseNumber),
            licenseImageURL: column("license_image_url", \.licenseImageURL),
            licenseExpiryDate: column("license_expiry_date", \.licenseExpiryDate),
            vehicleName: column("vehicle_name", \.vehicleName), vehicleNumber: column("vehicle_number", \.vehicleNumber),
            vehicleType: column("vehicle_type", \.vehicleType),
            vehicleDocuments: column("vehicle_documents", \.vehicleDocuments, as: .json))
    }
}

extension VehicleType: ColumnValue {}

extension ColumnForm<[VehicleDocument]> {
    fileprivate static var json: ColumnForm {
        ColumnForm(sqlValue: { .utf8($0.json) }, read: { [VehicleDocument](json: $0.bytes($1)) }, blank: [])
    }
}

extension [VehicleDocument] {
    fileprivate var json: [UInt8] {
        var json = JSONWriter()
        json.documents(self)
        return json.bytes
    }

    /// Nil if the JSON is not of this table.
    fileprivate init?(json: [UInt8]) {
        var documents: [VehicleDocument] = []
        do {
            try json.withUnsafeBytes { bytes in
                try JSONReader.array(bytes) { element in
                    var texts: [String: String] = [:]
                    try JSONReader.object(element.raw) { key, value in
                        if let name = key.string, let text = value.string { texts[name] = text }
                    }
                    guard let kind = texts["type"].flatMap(VehicleDocument.Kind.init(rawValue:)),
                        let url = texts["imageUrl"]
                    else { return }
                    documents.append(VehicleDocument(kind: kind, imageURL: url, expiryDate: texts["expiryDate"]))
                }
            }
        } catch { return nil }
        self = documents
    }
}
