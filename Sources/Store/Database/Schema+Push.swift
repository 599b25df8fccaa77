extension Schema {
    /// Version 2: devices and push.
    static let push = devices + outbox + badges + erasures

    private static let devices = [
        // Devices and their owners. `sealed` is the token, encrypted with the key `key_id`; `masked` may be shown.
        """
        CREATE TABLE devices (
            id TEXT NOT NULL PRIMARY KEY, provider TEXT NOT NULL, platform TEXT, environment TEXT, owner TEXT NOT NULL,
            device_id TEXT, sealed \(SQLDialect.bytes) NOT NULL, key_id TEXT NOT NULL, masked TEXT NOT NULL,
            registered_at BIGINT NOT NULL, last_seen_at BIGINT NOT NULL)
        """,
        "CREATE INDEX devices_by_owner ON devices (owner, id)",
        "CREATE INDEX devices_by_age ON devices (last_seen_at)",
        "CREATE INDEX devices_by_key ON devices (key_id, id)",
        // The bookings in a customer's token when the customer registered a device.
        """
        CREATE TABLE device_bookings (reference TEXT NOT NULL, owner TEXT NOT NULL, PRIMARY KEY (reference, owner))
        """,
        "CREATE INDEX device_bookings_by_owner ON device_bookings (owner)",
        "CREATE TABLE preferences (owner TEXT NOT NULL PRIMARY KEY, json TEXT NOT NULL, updated_at BIGINT NOT NULL)",
    ]

    private static let outbox = [
        // One notification for one device, at most once. `number` identifies the job, `turn` is its position in the
        // lane's queue. `collapse_key` is the notification's; NULL where it is just the notification's id.
        """
        CREATE TABLE push_jobs (
            number BIGINT NOT NULL PRIMARY KEY, lane TEXT NOT NULL, notification_id TEXT NOT NULL, device_id TEXT NOT NULL,
            recipient TEXT NOT NULL, entity TEXT, collapse_key TEXT, state TEXT NOT NULL, turn BIGINT NOT NULL, due_at BIGINT,
            attempts BIGINT NOT NULL, reason TEXT, message_id TEXT, queued_at BIGINT NOT NULL, expires_at BIGINT NOT NULL,
            settled_at BIGINT, UNIQUE (notification_id, device_id))
        """,
        // There are a thousand ended jobs per open one, so these indexes exclude them. Their last column, `state`, is
        // constant, but SQLite counts rows in the index alone only if the index contains every column of the query.
        "CREATE INDEX push_jobs_ready ON push_jobs (lane, turn, number, state) WHERE state = 'queued'",
        "CREATE INDEX push_jobs_waiting ON push_jobs (lane, due_at, number, state) WHERE state = 'waiting'",
        "CREATE INDEX push_jobs_open ON push_jobs (recipient, lane, turn) WHERE settled_at IS NULL",
        // All jobs of a recipient for an order or route, ended or not: finds the job that supersedes another.
        """
        CREATE INDEX push_jobs_news ON push_jobs (recipient, collapse_key, notification_id) WHERE collapse_key IS NOT NULL
        """,
        "CREATE INDEX push_jobs_ageing ON push_jobs (lane, expires_at) WHERE settled_at IS NULL",
        // Notifications for every driver's devices, and the progress of creating their jobs.
        """
        CREATE TABLE push_audiences (
            notification_id TEXT NOT NULL PRIMARY KEY, excepted TEXT, entity TEXT, after_owner TEXT NOT NULL)
        """,
    ]

    /// The unread count is updated with each change, so a badge reads one row. `seen_at` is the recipient's first
    /// action.
    private static let badges = [
        "ALTER TABLE notifications ADD COLUMN seen_at BIGINT",
        "ALTER TABLE channel_sequences ADD COLUMN unread BIGINT NOT NULL DEFAULT 0",
        seen(role: "driver"), seen(role: "customer"),
        """
        UPDATE channel_sequences SET unread = (SELECT COUNT(*) FROM notifications
            WHERE notifications.channel = channel_sequences.channel AND read_at IS NULL AND seen_at IS NULL)
        """,
        // `stray` 1: the notification is not in the log. The index serves counting these, and erasure.
        "ALTER TABLE notification_steps ADD COLUMN stray BIGINT NOT NULL DEFAULT 0",
        "CREATE INDEX notification_steps_by_subject ON notification_steps (subject, stray)",
    ]

    /// `driver:42` reports steps of notifications on the channel `driver-42`.
    private static func seen(role: String) -> String {
        """
        UPDATE notifications SET seen_at = (SELECT MIN(at) FROM notification_steps
            WHERE notification_id = notifications.id AND step IN ('action_view_now', 'action_accept', 'action_dismiss')
            AND subject = '\(role):' || SUBSTR(notifications.channel, \(role.utf8.count + 2)))
        WHERE channel LIKE '\(role)-%'
        """
    }

    private static let erasures = [
        // People whose data is still to be redacted: notifications after `cursor` up to `last_id`, and stored responses
        // younger than `answers_to`. `names` is a JSON array of the person's names, deleted when the redaction is done.
        """
        CREATE TABLE erasures (
            subject TEXT NOT NULL PRIMARY KEY, role TEXT NOT NULL, id TEXT NOT NULL, requested_at BIGINT NOT NULL,
            cursor TEXT NOT NULL, last_id TEXT NOT NULL, answers_to BIGINT NOT NULL, names TEXT NOT NULL)
        """,
        // Rows that contain a person's name or positions.
        "CREATE INDEX orders_by_named_driver ON orders (driver_id) WHERE driver_name IS NOT NULL",
        "CREATE INDEX orders_by_customer ON orders (customer_id) WHERE customer_id IS NOT NULL",
        "CREATE INDEX routes_by_named_driver ON routes (driver_id) WHERE driver_name IS NOT NULL",
        "CREATE INDEX audit_by_actor ON audit (actor) WHERE details IS NOT NULL",
    ]
}
