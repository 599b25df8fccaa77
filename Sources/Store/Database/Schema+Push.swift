extension Schema {
    /// Version 2: phones, and what is to reach them.
    static let phones = devices + outbox + badges + erasures

    private static let devices = [
        // Whose a phone is. Its token is sealed with the key that `key_id` names; `masked` is what people may see of it.
        """
        CREATE TABLE devices (
            id TEXT NOT NULL PRIMARY KEY, provider TEXT NOT NULL, platform TEXT, environment TEXT, owner TEXT NOT NULL,
            device_id TEXT, sealed BLOB NOT NULL, key_id TEXT NOT NULL, masked TEXT NOT NULL, registered_at BIGINT NOT NULL,
            last_seen_at BIGINT NOT NULL)
        """,
        "CREATE INDEX devices_by_owner ON devices (owner, id)",
        "CREATE INDEX devices_by_age ON devices (last_seen_at)",
        "CREATE INDEX devices_by_key ON devices (key_id, id)",
        // The bookings that a customer's token named when he registered a phone.
        """
        CREATE TABLE device_bookings (reference TEXT NOT NULL, owner TEXT NOT NULL, PRIMARY KEY (reference, owner))
        """,
        "CREATE INDEX device_bookings_by_owner ON device_bookings (owner)",
        "CREATE TABLE preferences (owner TEXT NOT NULL PRIMARY KEY, json TEXT NOT NULL, updated_at BIGINT NOT NULL)",
    ]

    private static let outbox = [
        // One notification for one phone, at most once. `turn` is its place among everybody's, `number` only its name;
        // `collapse_key` is the notification's, NULL where that is only its own id.
        """
        CREATE TABLE push_jobs (
            number BIGINT NOT NULL PRIMARY KEY, lane TEXT NOT NULL, notification_id TEXT NOT NULL, device_id TEXT NOT NULL,
            recipient TEXT NOT NULL, entity TEXT, collapse_key TEXT, state TEXT NOT NULL, turn BIGINT NOT NULL, due_at BIGINT,
            attempts BIGINT NOT NULL, reason TEXT, message_id TEXT, queued_at BIGINT NOT NULL, expires_at BIGINT NOT NULL,
            settled_at BIGINT, UNIQUE (notification_id, device_id))
        """,
        // Settled jobs outnumber the others a thousand to one, so these have none of them. The state at their end says what
        // is known, but SQLite counts in an index alone only if it holds every column that the question names.
        "CREATE INDEX push_jobs_ready ON push_jobs (lane, turn, number, state) WHERE state = 'queued'",
        "CREATE INDEX push_jobs_waiting ON push_jobs (lane, due_at, number, state) WHERE state = 'waiting'",
        "CREATE INDEX push_jobs_open ON push_jobs (recipient, lane, turn) WHERE settled_at IS NULL",
        // What somebody was told of an order or route, settled or not: the newest is what counts.
        """
        CREATE INDEX push_jobs_news ON push_jobs (recipient, collapse_key, notification_id) WHERE collapse_key IS NOT NULL
        """,
        "CREATE INDEX push_jobs_ageing ON push_jobs (lane, expires_at) WHERE settled_at IS NULL",
        // Notifications for every driver's phones, and how far their jobs have been made.
        """
        CREATE TABLE push_audiences (
            notification_id TEXT NOT NULL PRIMARY KEY, excepted TEXT, entity TEXT, after_owner TEXT NOT NULL)
        """,
    ]

    /// What is unread is counted as it changes: a badge is one row. `seen_at` is its own recipient's first action on it.
    private static let badges = [
        "ALTER TABLE notifications ADD COLUMN seen_at BIGINT",
        "ALTER TABLE channel_sequences ADD COLUMN unread BIGINT NOT NULL DEFAULT 0",
        seen(role: "driver"), seen(role: "customer"),
        """
        UPDATE channel_sequences SET unread = (SELECT COUNT(*) FROM notifications
            WHERE notifications.channel = channel_sequences.channel AND read_at IS NULL AND seen_at IS NULL)
        """,
        // `stray` 1: of a notification that is not in the log. The index is for counting those, and for erasing.
        "ALTER TABLE notification_steps ADD COLUMN stray BIGINT NOT NULL DEFAULT 0",
        "CREATE INDEX notification_steps_by_subject ON notification_steps (subject, stray)",
    ]

    /// `driver:42` speaks of what was said on `driver-42`.
    private static func seen(role: String) -> String {
        """
        UPDATE notifications SET seen_at = (SELECT MIN(at) FROM notification_steps
            WHERE notification_id = notifications.id AND step IN ('action_view_now', 'action_accept', 'action_dismiss')
            AND subject = '\(role):' || SUBSTR(notifications.channel, \(role.utf8.count + 2)))
        WHERE channel LIKE '\(role)-%'
        """
    }

    private static let erasures = [
        // What the log still has to be searched for: the notifications after `cursor`, up to `last_id`, and stored answers
        // younger than `answers_to`. `names`, a JSON array, is what he was called; it goes when the search is done.
        """
        CREATE TABLE erasures (
            subject TEXT NOT NULL PRIMARY KEY, role TEXT NOT NULL, id TEXT NOT NULL, requested_at BIGINT NOT NULL,
            cursor TEXT NOT NULL, last_id TEXT NOT NULL, answers_to BIGINT NOT NULL, names TEXT NOT NULL)
        """,
        // Where somebody's name and positions are.
        "CREATE INDEX orders_by_named_driver ON orders (driver_id) WHERE driver_name IS NOT NULL",
        "CREATE INDEX orders_by_customer ON orders (customer_id) WHERE customer_id IS NOT NULL",
        "CREATE INDEX routes_by_named_driver ON routes (driver_id) WHERE driver_name IS NOT NULL",
        "CREATE INDEX audit_by_actor ON audit (actor) WHERE details IS NOT NULL",
    ]
}
