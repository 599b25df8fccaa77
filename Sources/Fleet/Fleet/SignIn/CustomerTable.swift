import Access

/// The accounts of customers who have signed in by code. Only an erasure deletes one.
struct CustomerTable {
    static let table = Table<Customer>(
        "customers", key: ["id"], others: ["email_key"], constant: ["phone", "created_at", "email_key"],
        update: ["email_key = COALESCE(excluded.email_key, customers.email_key)"])

    let database: Database

    /// The account of a customer; nil if there is none. Its id has one spelling: an issuer's `010000` is somebody else than
    /// the customer of account 10000.
    func customer(_ person: Identity) throws(DatabaseError) -> Customer? {
        guard person.role == .customer, let id = Int64(person.id), String(id) == person.id else { return nil }
        return try customer(id: id)
    }

    func customer(id: Int64) throws(DatabaseError) -> Customer? {
        try database.first(Self.selectByID, .integer(id), as: Customer.init(row:))
    }

    func customer(phone: String) throws(DatabaseError) -> Customer? {
        try database.first(Self.selectByPhone, .string(phone), as: Customer.init(row:))
    }

    private static let selectByID = table.select("WHERE id = ?")
    private static let selectByPhone = table.select("WHERE phone = ?")

    /// Whether another account has the e-mail address.
    /// - Parameter key: ``BasicDetails/emailKey``.
    func isEmailTaken(_ key: String, exceptBy id: Int64) throws(DatabaseError) -> Bool {
        try database.first(
            "SELECT 1 FROM customers WHERE email_key = ? AND id <> ?", .string(key), .integer(id), as: { _ in true }) ?? false
    }

    /// Inserts or updates an account.
    /// - Parameter emailKey: ``BasicDetails/emailKey`` of a new address; nil: the address is unchanged.
    func store(_ customer: Customer, emailKey: String? = nil) throws(DatabaseError) {
        try database.change(Self.table.upsert, Self.table.values(of: customer, .string(emailKey)))
    }

    /// Deletes an account. The oldest of those that could not have its number gets it (``duplicates()``).
    func remove(_ customer: Customer) throws(DatabaseError) {
        try database.change("DELETE FROM customers WHERE id = ?", .integer(customer.id))
        let heir = try database.first(
            "SELECT MIN(id) FROM customer_duplicates WHERE phone = ?", .string(customer.phone), as: { $0.optionalInteger(0) })
        if let heir {
            try database.change("UPDATE customers SET phone = ? WHERE id = ?", .string(customer.phone), .integer(heir))
        }
        try database.change(
            "DELETE FROM customer_duplicates WHERE id = ? OR id = ?", .integer(customer.id), .integer(heir ?? customer.id))
    }

    /// The accounts with a number that was stored with a trunk prefix, while another account has the same number without it.
    /// Nobody can sign in to them.
    /// - Returns: the ids of each of these accounts and of the other one.
    func duplicates() throws(DatabaseError) -> [(id: Int64, other: Int64)] {
        try database.all(
            """
            SELECT customer_duplicates.id, customers.id FROM customer_duplicates \
            JOIN customers ON customers.phone = customer_duplicates.phone ORDER BY 1
            """, as: { ($0.integer(0), $0.integer(1)) })
    }

    // MARK: E-mail addresses of others

    func emailRefusals(id: Int64) throws(DatabaseError) -> EmailRefusals {
        let times = try database.first(
            "SELECT email_refusals FROM customers WHERE id = ?", .integer(id), as: { $0.optionalString(0) })
        return EmailRefusals(times: (times ?? "").split(separator: ",").compactMap { Int64($0) })
    }

    func store(_ refusals: EmailRefusals, id: Int64) throws(DatabaseError) {
        try database.change(
            "UPDATE customers SET email_refusals = ? WHERE id = ?",
            .string(refusals.times.map(String.init).joined(separator: ",")), .integer(id))
    }

    /// The id of the next account. No other account gets it, even if this one is erased.
    func nextID() throws(DatabaseError) -> Int64 {
        let id =
            try database.first("SELECT next FROM customer_ids", as: { $0.integer(0) }) ?? Customer.firstID
        try database.change("UPDATE customer_ids SET next = ?", .integer(id + 1))
        return id
    }
}

extension Customer: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Customer>) throws(DatabaseError) -> Customer {
        try Customer(
            id: column("id", \.id), phone: column("phone", \.phone), name: column("name", \.name),
            email: column("email", \.email), payment: column.part(orNull: \.payment),
            createdAt: column("created_at", \.createdAt), updatedAt: column("updated_at", \.updatedAt),
            lastLoginAt: column("last_login_at", \.lastLoginAt))
    }
}

extension PaymentMethod: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<PaymentMethod>) throws(DatabaseError) -> PaymentMethod {
        try PaymentMethod(
            token: column("payment_token", \.token), brand: column("card_brand", \.brand),
            last4: column("card_last4", \.last4), expiryMonth: column("expiry_month", \.expiryMonth),
            expiryYear: column("expiry_year", \.expiryYear))
    }
}
