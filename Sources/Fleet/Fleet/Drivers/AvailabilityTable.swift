import Primitives

/// The switches of the drivers who have used theirs.
struct AvailabilityTable {
    let database: Database

    /// A driver's switch; nil if the driver has never used it.
    func availability(of account: Account) throws(DatabaseError) -> Availability? {
        try database.first(
            "SELECT online, since FROM driver_availability WHERE account_id = ?", .string(account.id.text),
            as: { row in
                Availability(
                    accountID: account.id, personID: account.personID, isOnline: row.integer(0) == 1, since: row.integer(1))
            })
    }

    /// Inserts or updates a driver's switch.
    /// - Parameter now: when the driver was last seen.
    func store(_ availability: Availability, now: Int64) throws(DatabaseError) {
        try database.change(
            """
            INSERT INTO driver_availability (account_id, online, since, seen_at) VALUES (?, ?, ?, ?) \
            ON CONFLICT (account_id) DO UPDATE SET online = excluded.online, since = excluded.since, \
            seen_at = excluded.seen_at
            """, .string(availability.accountID.text), .integer(availability.isOnline ? 1 : 0),
            .integer(availability.since), .integer(now))
    }

    func remove(account id: ObjectID) throws(DatabaseError) {
        try database.change("DELETE FROM driver_availability WHERE account_id = ?", .string(id.text))
    }

    /// Whether new batches are pushed to a driver: the account is approved, and the driver has not switched to offline.
    /// - Parameter owner: ``Identity/key``.
    func mayHear(ofBatches owner: String) throws(DatabaseError) -> Bool {
        let personID = String(Substring(owner.utf8.dropFirst("driver:".utf8.count)))
        return try database.first(
            """
            SELECT 1 FROM accounts LEFT JOIN driver_availability AS switch ON switch.account_id = accounts.id \
            WHERE person_id = ? AND accounts.status = 'ACTIVE' AND COALESCE(switch.online, 1) = 1
            """, .string(personID), as: { _ in true }) ?? false
    }

    // MARK: Drivers who are away

    /// A driver whose switch is on, and when the driver was last seen according to the store.
    struct Online {
        let account: String
        let personID: String
        let seenAt: Int64
    }

    /// Drivers whose switches are on: those after an account, in the order of the ids, at most `most`.
    func online(after account: String, most: Int) throws(DatabaseError) -> [Online] {
        try database.all(
            """
            SELECT account_id, person_id, seen_at FROM driver_availability JOIN accounts ON accounts.id = account_id \
            WHERE online = 1 AND account_id > ? ORDER BY account_id LIMIT ?
            """, .string(account), .integer(most),
            as: { Online(account: $0.string(0), personID: $0.string(1), seenAt: $0.integer(2)) })
    }

    func setSeen(_ account: String, at time: Int64) throws(DatabaseError) {
        try database.change(
            "UPDATE driver_availability SET seen_at = ? WHERE account_id = ?", .integer(time), .string(account))
    }
}
