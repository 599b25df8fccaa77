extension Schema {
    /// Drivers' accounts. Their decisions are in the audit log too.
    static let accounts = [
        """
        CREATE TABLE accounts (
            id TEXT NOT NULL PRIMARY KEY, uid TEXT NOT NULL UNIQUE, person_id TEXT NOT NULL UNIQUE,
            phone TEXT NOT NULL UNIQUE, status TEXT NOT NULL, reason TEXT, version BIGINT NOT NULL, name TEXT NOT NULL,
            email TEXT, profile_image TEXT, license_number TEXT NOT NULL, license_image_url TEXT NOT NULL,
            license_expiry_date TEXT, vehicle_name TEXT NOT NULL, vehicle_number TEXT NOT NULL,
            vehicle_type TEXT NOT NULL, vehicle_documents TEXT NOT NULL, created_at BIGINT NOT NULL,
            updated_at BIGINT NOT NULL, last_login_at BIGINT)
        """,
        "CREATE INDEX accounts_by_age ON accounts (created_at, id)",
        "CREATE INDEX accounts_by_status ON accounts (status, created_at, id)",
        "ALTER TABLE audit ADD COLUMN account_id TEXT",
        "CREATE INDEX audit_by_account ON audit (account_id, id) WHERE account_id IS NOT NULL",
    ]
}
