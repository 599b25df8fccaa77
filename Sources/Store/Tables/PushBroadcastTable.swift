import FleetRules

/// Notifications for every driver's phones, whose jobs are still being made: there may be a hundred thousand.
struct PushBroadcastTable {
    /// How far one of them has come.
    struct Broadcast {
        let notificationID: String
        /// ``Identity/key`` of whom the same action has reached already.
        let except: String?
        let entity: PushIntent.Entity?
        /// The last whose phones were looked at.
        let afterOwner: String
    }

    private let insert: Statement
    private let selectFirst: Statement
    private let advance: Statement
    private let delete: Statement

    init(_ database: Database) throws(DatabaseError) {
        insert = try Statement(
            """
            INSERT INTO push_audiences (notification_id, excepted, entity, after_owner) VALUES (?, ?, ?, ?)
            """, on: database)
        selectFirst = try Statement(
            """
            SELECT notification_id, excepted, entity, after_owner FROM push_audiences \
            ORDER BY notification_id LIMIT 1
            """, on: database)
        advance = try Statement(
            "UPDATE push_audiences SET after_owner = ? WHERE notification_id = ?", on: database)
        delete = try Statement("DELETE FROM push_audiences WHERE notification_id = ?", on: database)
    }

    func add(_ intent: PushIntent, except: String?) throws(DatabaseError) {
        // Before all drivers, and behind all admins and customers.
        try insert.run(
            .string(intent.notificationID), .string(except), .string(intent.entity?.stored), .string("driver:"))
    }

    /// The oldest; nil when there is none.
    func first() throws(DatabaseError) -> Broadcast? {
        try selectFirst.first { row throws(DatabaseError) in
            Broadcast(
                notificationID: row.string(0), except: row.optionalString(1),
                entity: row.optionalString(2).flatMap { .init(stored: $0) }, afterOwner: row.string(3))
        }
    }

    func advance(_ id: String, to owner: String) throws(DatabaseError) {
        try advance.run(.string(owner), .string(id))
    }

    func remove(_ id: String) throws(DatabaseError) { try delete.run(.string(id)) }
}
