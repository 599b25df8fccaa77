import JSON
import Primitives

/// Drivers' accounts. Only the erasure of the driver deletes one.
struct AccountTable {
    let database: Database

    private static let columns = """
        id, uid, person_id, phone, status, reason, version, name, email, profile_image, license_number, license_image_url, \
        license_expiry_date, vehicle_name, vehicle_number, vehicle_type, vehicle_documents, created_at, updated_at, \
        last_login_at
        """

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

    private static let selectByUser = SQL("SELECT \(columns) FROM accounts WHERE uid = ?")
    private static let selectByID = SQL("SELECT \(columns) FROM accounts WHERE id = ?")
    private static let selectByPerson = SQL("SELECT \(columns) FROM accounts WHERE person_id = ?")
    private static let selectByPhone = SQL("SELECT \(columns) FROM accounts WHERE phone = ?")

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

    private static let selectNewest = SQL(
        "SELECT \(columns) FROM accounts WHERE (created_at, id) < (?, ?) ORDER BY created_at DESC, id DESC LIMIT ?")
    private static let selectNewestByStatus = SQL(
        """
        SELECT \(columns) FROM accounts WHERE status = ? AND (created_at, id) < (?, ?) \
        ORDER BY created_at DESC, id DESC LIMIT ?
        """)

    /// Calls `each` for every account, in the order of registration. Used at the start.
    func each(_ each: (Account) -> Void) throws(DatabaseError) {
        try database.each(Self.selectAll) { row throws(DatabaseError) in each(try Account(row: row)) }
    }

    private static let selectAll = SQL("SELECT \(columns) FROM accounts ORDER BY created_at, id")

    // MARK: Changes

    /// Inserts or updates an account.
    func store(_ account: Account) throws(DatabaseError) {
        let registration = account.registration
        try database.change(
            Self.upsert, .string(account.id.text), .string(account.uid), .string(account.personID), .string(account.phone),
            .string(account.status.rawValue), .string(account.reason), .integer(account.version),
            .string(registration.name), .string(registration.email), .string(registration.profileImage),
            .string(registration.licenseNumber), .string(registration.licenseImageURL),
            .string(registration.licenseExpiryDate), .string(registration.vehicleName),
            .string(registration.vehicleNumber), .string(registration.vehicleType.rawValue),
            .utf8(registration.vehicleDocuments.json), .integer(account.createdAt), .integer(account.updatedAt),
            account.lastLoginAt.map { .integer($0) } ?? .null)
    }

    private static let upsert = SQL(
        """
        INSERT INTO accounts (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
        ON CONFLICT (id) DO UPDATE SET person_id = excluded.person_id, phone = excluded.phone, status = excluded.status, \
        reason = excluded.reason, version = excluded.version, name = excluded.name, email = excluded.email, \
        profile_image = excluded.profile_image, license_number = excluded.license_number, \
        license_image_url = excluded.license_image_url, license_expiry_date = excluded.license_expiry_date, \
        vehicle_name = excluded.vehicle_name, vehicle_number = excluded.vehicle_number, \
        vehicle_type = excluded.vehicle_type, vehicle_documents = excluded.vehicle_documents, \
        updated_at = excluded.updated_at, last_login_at = excluded.last_login_at
        """)

    func remove(id: ObjectID) throws(DatabaseError) {
        try database.change("DELETE FROM accounts WHERE id = ?", .string(id.text))
    }
}

extension Account {
    fileprivate init(row: Row) throws(DatabaseError) {
        guard let id = ObjectID(row.string(0)), let status = AccountStatus(rawValue: row.string(4)),
            let type = VehicleType(rawValue: row.string(15)), let documents = [VehicleDocument](json: row.bytes(16))
        else { throw .unreadable("the account \(row.string(0))", doing: row.sql) }
        self.init(
            id: id, uid: row.string(1), personID: row.string(2), phone: row.string(3),
            Registration(
                name: row.string(7), email: row.optionalString(8), profileImage: row.optionalString(9),
                licenseNumber: row.string(10), licenseImageURL: row.string(11), licenseExpiryDate: row.optionalString(12),
                vehicleName: row.string(13), vehicleNumber: row.string(14), vehicleType: type, vehicleDocuments: documents),
            createdAt: row.integer(17))
        self.status = status
        reason = row.optionalString(5)
        version = Int(row.integer(6))
        updatedAt = row.integer(18)
        lastLoginAt = row.isNull(19) ? nil : row.integer(19)
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
