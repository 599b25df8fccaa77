/// The accounts of customers who have signed in by code. Only an erasure deletes one.
struct CustomerTable {
    let database: Database

    private static let columns = """
        id, phone, name, email, payment_token, card_brand, card_last4, expiry_month, expiry_year, created_at, updated_at, \
        last_login_at
        """

    func customer(id: Int64) throws(DatabaseError) -> Customer? {
        try database.first(Self.selectByID, .integer(id), as: Customer.init(row:))
    }

    func customer(phone: String) throws(DatabaseError) -> Customer? {
        try database.first(Self.selectByPhone, .string(phone), as: Customer.init(row:))
    }

    private static let selectByID = SQL("SELECT \(columns) FROM customers WHERE id = ?")
    private static let selectByPhone = SQL("SELECT \(columns) FROM customers WHERE phone = ?")

    /// Whether another account has the e-mail address.
    /// - Parameter key: ``BasicDetails/emailKey``.
    func isEmailTaken(_ key: String, exceptBy id: Int64) throws(DatabaseError) -> Bool {
        try database.first(
            "SELECT 1 FROM customers WHERE email_key = ? AND id <> ?", .string(key), .integer(id), as: { _ in true }) ?? false
    }

    /// Inserts or updates an account.
    /// - Parameter emailKey: ``BasicDetails/emailKey`` of a new address; nil: the address is unchanged.
    func store(_ customer: Customer, emailKey: String? = nil) throws(DatabaseError) {
        let payment = customer.payment
        try database.change(
            Self.upsert, .integer(customer.id), .string(customer.phone), .string(customer.name), .string(customer.email),
            .string(payment?.token), .string(payment?.brand), .string(payment?.last4),
            .integer(payment?.expiryMonth.map { Int64($0) }), .integer(payment?.expiryYear.map { Int64($0) }),
            .integer(customer.createdAt), .integer(customer.updatedAt), .integer(customer.lastLoginAt), .string(emailKey))
    }

    private static let upsert = SQL(
        """
        INSERT INTO customers (\(columns), email_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
        ON CONFLICT (id) DO UPDATE SET name = excluded.name, email = excluded.email, \
        payment_token = excluded.payment_token, card_brand = excluded.card_brand, card_last4 = excluded.card_last4, \
        expiry_month = excluded.expiry_month, expiry_year = excluded.expiry_year, updated_at = excluded.updated_at, \
        last_login_at = excluded.last_login_at, email_key = COALESCE(excluded.email_key, customers.email_key)
        """)

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

extension Customer {
    fileprivate init(row: Row) {
        let payment = row.optionalString(4).map {
            PaymentMethod(
                token: $0, brand: row.optionalString(5), last4: row.optionalString(6),
                expiryMonth: row.optionalInteger(7).map { Int($0) }, expiryYear: row.optionalInteger(8).map { Int($0) })
        }
        self.init(
            id: row.integer(0), phone: row.string(1), name: row.optionalString(2), email: row.optionalString(3),
            payment: payment, createdAt: row.integer(9), updatedAt: row.integer(10), lastLoginAt: row.integer(11))
    }
}
