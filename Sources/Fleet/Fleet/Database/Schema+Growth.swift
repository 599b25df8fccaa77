/// Version 21: a notification costs half the bytes.
///
/// Notifications have numbers, because others refer to them by numbers of four bytes instead of ids of 26. Only what the
/// writer adds from now on is packed (``PackedData``, ``PackedText``); retention removes the rest in time.
extension Schema {
    static let growth = numberedNotifications + numberedDeliveries + replacements + settledPushes

    private static let numberedNotifications = [
        // `number` increases with `id`. `collapse_key` is NULL if it is the id. There is no index by age: ids begin with
        // their times. `device` is that to which alone the owner of the channel has got the notification, at the times of the
        // row; if there are more, or the notification is for all drivers, each has a row in `deliveries`.
        """
        CREATE TABLE notifications_by_number (
            number ROW_NUMBER PRIMARY KEY, id TEXT NOT NULL UNIQUE, channel TEXT NOT NULL, sequence BIGINT NOT NULL,
            event TEXT NOT NULL, data BLOB NOT NULL, correlation_id BLOB NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
            created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, collapse_key TEXT, read_at BIGINT, seen_at BIGINT,
            written_at BIGINT, confirmed_at BIGINT, acknowledged_at BIGINT, unconfirmed BIGINT NOT NULL DEFAULT 0, device BLOB,
            UNIQUE (channel, sequence))
        """,
        """
        INSERT INTO notifications_by_number (number, id, channel, sequence, event, data, correlation_id, actor, action,
            created_at, expires_at, collapse_key, read_at, seen_at, written_at, confirmed_at, acknowledged_at, unconfirmed)
        SELECT ROW_NUMBER() OVER (ORDER BY id), id, channel, sequence, event, BYTES(data), BYTES(correlation_id), actor, action,
            created_at, expires_at, CASE WHEN collapse_key = id THEN NULL ELSE collapse_key END, read_at, seen_at, written_at,
            confirmed_at, acknowledged_at, unconfirmed FROM notifications ORDER BY id
        """,
        // The first notification of the action: those of an order are found by the audit log.
        "ALTER TABLE audit ADD COLUMN notification BIGINT",
        """
        UPDATE audit SET notification = (SELECT MIN(numbered.number) FROM notifications
            JOIN notifications_by_number AS numbered ON numbered.id = notifications.id
            WHERE notifications.created_at = audit.at AND notifications.correlation_id = audit.correlation_id)
        WHERE order_code IS NOT NULL
        """,
    ]

    private static let numberedDeliveries = [
        // `owner` is empty for the owner of the person's channel that the notification is on.
        """
        CREATE TABLE deliveries_by_number (
            number BIGINT NOT NULL, owner TEXT NOT NULL, device BLOB NOT NULL, written_at BIGINT NOT NULL, confirmed_at BIGINT,
            PRIMARY KEY (number, owner, device)) CLUSTERED
        """,
        """
        INSERT INTO deliveries_by_number (number, owner, device, written_at, confirmed_at)
        SELECT number, CASE WHEN deliveries.channel < 'driver.' AND owner = 'driver:' || SUBSTR(deliveries.channel, 8) THEN ''
            WHEN owner = 'customer:' || SUBSTR(deliveries.channel, 10) THEN '' ELSE owner END, BYTES(deliveries.device),
            deliveries.written_at, deliveries.confirmed_at FROM notifications_by_number AS numbered
        JOIN deliveries ON deliveries.channel = numbered.channel AND deliveries.sequence = numbered.sequence
        """,
        // How far an erasure has deleted the deliveries on the person's own channel.
        "ALTER TABLE erasures ADD COLUMN delivery_cursor BIGINT NOT NULL DEFAULT 0",
    ]

    private static let replacements = [
        "DROP TABLE deliveries", "DROP TABLE notifications",
        "ALTER TABLE deliveries_by_number RENAME TO deliveries",
        "ALTER TABLE notifications_by_number RENAME TO notifications",
        "CREATE INDEX notifications_unconfirmed ON notifications (expires_at) WHERE unconfirmed = 1",
        """
        CREATE INDEX notifications_expiring ON notifications (expires_at)
            WHERE channel > 'customer-' AND channel < 'drivers-d'
        """,
    ]

    private static let settledPushes = [
        // Push jobs that have ended: retention moves them here (``PushOutcomeTable``). `number` is the notification's;
        // `recipient` is empty for the owner of its channel; `state` also says the lane. Times are milliseconds since the
        // notification was created.
        """
        CREATE TABLE push_outcomes (
            number BIGINT NOT NULL, device BLOB NOT NULL, round BIGINT NOT NULL, recipient TEXT NOT NULL, state BIGINT NOT NULL,
            attempts BIGINT NOT NULL, reason TEXT, message BLOB, queued BIGINT NOT NULL, settled BIGINT NOT NULL,
            PRIMARY KEY (number, device, round)) CLUSTERED
        """,
        // Of a notification for all drivers, each driver's.
        """
        CREATE INDEX push_outcomes_by_recipient ON push_outcomes (number, recipient, settled, state) WHERE recipient <> ''
        """,
        // Digests of names that belong to ended pushes, each with the newest notification that has it.
        "CREATE TABLE push_names (name ROW_NUMBER PRIMARY KEY, number BIGINT NOT NULL)",
        // The digest of the recipient and the collapse key. NULL for jobs without that key.
        "ALTER TABLE push_jobs ADD COLUMN subject BIGINT",
        "CREATE INDEX push_jobs_settled ON push_jobs (settled_at) WHERE settled_at IS NOT NULL",
    ]

    /// Packs the devices' ids: SQL cannot, and the next receipt of a device must find its delivery.
    static func packDevices(_ database: Database) throws(DatabaseError) {
        let select = try database.connection.prepare(
            """
            SELECT number, owner, device FROM deliveries WHERE (number, owner, device) > (?, ?, ?) \
            ORDER BY number, owner, device LIMIT 1000
            """)
        // A server gets the updates of a page together, and answers once.
        let update = try database.connection.prepare(
            "UPDATE deliveries SET device = ? WHERE number = ? AND owner = ? AND device = ?")
        var last: (number: Int64, owner: String, device: [UInt8])? = (0, "", [])
        while let after = last {
            var rows: [(number: Int64, owner: String, device: [UInt8])] = []
            try select.run([.integer(after.number), .string(after.owner), .blob(after.device)]) { row throws(DatabaseError) in
                rows.append((row.integer(0), row.string(1), row.bytes(2)))
            }
            for row in rows {
                let packed = PackedText.pack(String(decoding: row.device, as: UTF8.self))
                guard packed != row.device else { continue }
                try update.change([.blob(packed), .integer(row.number), .string(row.owner), .blob(row.device)], nil)
            }
            last = rows.last
        }
    }
}
