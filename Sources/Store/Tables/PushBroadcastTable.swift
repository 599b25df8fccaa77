import FleetRules

/// Broadcasts: notifications for all drivers. A row exists while the push jobs of its broadcast are being created.
/// There may be a hundred thousand drivers, so the jobs are created in slices.
struct PushBroadcastTable {
    /// A broadcast and its progress.
    struct Broadcast {
        let notificationID: String
        /// ``Identity/key`` of the driver that the broadcast leaves out, because the same action sends this driver
        /// another notification. Nil if it leaves out none.
        let except: String?
        let entity: PushIntent.Entity?
        /// ``Identity/key`` of the last driver that has its push jobs; `driver:` at the start. The store creates jobs
        /// in the order of these keys.
        let afterOwner: String
        /// Whether only those drivers get a push who have neither confirmed nor acknowledged the notification.
        let isReminder: Bool
    }

    let database: Database

    /// Adds a broadcast.
    func add(_ intent: PushIntent, except: String?) throws(DatabaseError) {
        // "driver:" sorts before the keys of all drivers and after those of admins and customers.
        try database.change(
            "INSERT INTO push_audiences (notification_id, excepted, entity, after_owner) VALUES (?, ?, ?, ?)",
            .string(intent.notificationID), .string(except), .string(intent.entity?.stored), .string("driver:"))
    }

    /// Adds a reminder of a broadcast. While the broadcast's own jobs are being created, nothing is added: nobody has
    /// missed them yet.
    func addReminder(_ notificationID: String) throws(DatabaseError) {
        try database.change(
            """
            INSERT INTO push_audiences (notification_id, after_owner, reminder) VALUES (?, ?, 1) \
            ON CONFLICT (notification_id) DO NOTHING
            """, .string(notificationID), .string("driver:"))
    }

    /// The oldest broadcast; nil if there is none.
    func first() throws(DatabaseError) -> Broadcast? {
        try database.first(
            """
            SELECT notification_id, excepted, entity, after_owner, reminder FROM push_audiences \
            ORDER BY notification_id LIMIT 1
            """,
            as: { row in
                Broadcast(
                    notificationID: row.string(0), except: row.optionalString(1),
                    entity: row.optionalString(2).flatMap { .init(stored: $0) }, afterOwner: row.string(3),
                    isReminder: row.integer(4) > 0)
            })
    }

    /// Stores the progress of a broadcast: `owner` is the last driver that has its push jobs.
    func advance(_ id: String, to owner: String) throws(DatabaseError) {
        try database.change(
            "UPDATE push_audiences SET after_owner = ? WHERE notification_id = ?", .string(owner), .string(id))
    }

    func remove(_ id: String) throws(DatabaseError) {
        try database.change("DELETE FROM push_audiences WHERE notification_id = ?", .string(id))
    }
}
