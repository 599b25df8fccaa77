extension Schema {
    /// Version 2: devices and push.
    static let push = devices + outbox + badges + erasures

    /// Version 4: of the pushes of one order or route, a device has one on its way at a time. Quarantined devices.
    static let pushGuards = [
        // For finding the push that is on its way. Contains only jobs that are being sent, and only those of orders and
        // routes.
        """
        CREATE INDEX push_jobs_sending ON push_jobs (device_id, collapse_key)
            WHERE state = 'sending' AND collapse_key IS NOT NULL
        """,
        // When the device was quarantined: its push jobs stay queued until it is known whether its token is invalid or
        // the configuration is wrong. NULL for almost all devices.
        "ALTER TABLE devices ADD COLUMN quarantined_at BIGINT",
        "CREATE INDEX devices_quarantined ON devices (quarantined_at) WHERE quarantined_at IS NOT NULL",
    ]

    private static let devices = [
        // Devices. `owner` is the user who registered the device, such as `driver:42`. `sealed` is the device's push
        // token, encrypted with the key `key_id`. `masked` consists of the token's first and last characters; responses
        // and logs may contain it.
        """
        CREATE TABLE devices (
            id TEXT NOT NULL PRIMARY KEY, provider TEXT NOT NULL, platform TEXT, environment TEXT, owner TEXT NOT NULL,
            device_id TEXT, sealed BLOB NOT NULL, key_id TEXT NOT NULL, masked TEXT NOT NULL,
            registered_at BIGINT NOT NULL, last_seen_at BIGINT NOT NULL)
        """,
        "CREATE INDEX devices_by_owner ON devices (owner, id)",
        "CREATE INDEX devices_by_age ON devices (last_seen_at)",
        "CREATE INDEX devices_by_key ON devices (key_id, id)",
        // The bookings that a customer's JWT listed when the customer last registered a device. `owner` is the
        // customer.
        """
        CREATE TABLE device_bookings (reference TEXT NOT NULL, owner TEXT NOT NULL, PRIMARY KEY (reference, owner))
        """,
        "CREATE INDEX device_bookings_by_owner ON device_bookings (owner)",
        "CREATE TABLE preferences (owner TEXT NOT NULL PRIMARY KEY, json TEXT NOT NULL, updated_at BIGINT NOT NULL)",
    ]

    private static let outbox = [
        // Push jobs: one row for each pair of a notification and a device. `number` identifies the job. `lane` names
        // the queue that sends it (`PushLane`), and `turn` is its position in this queue. `settled_at` is when the job
        // ended; NULL while it is open. A job is superseded by a newer job with the same recipient and `collapse_key`.
        // The key is copied from the notification. It is NULL if nothing can supersede the notification.
        """
        CREATE TABLE push_jobs (
            number BIGINT NOT NULL PRIMARY KEY, lane TEXT NOT NULL, notification_id TEXT NOT NULL, device_id TEXT NOT NULL,
            recipient TEXT NOT NULL, entity TEXT, collapse_key TEXT, state TEXT NOT NULL, turn BIGINT NOT NULL, due_at BIGINT,
            attempts BIGINT NOT NULL, reason TEXT, message_id TEXT, queued_at BIGINT NOT NULL, expires_at BIGINT NOT NULL,
            settled_at BIGINT, UNIQUE (notification_id, device_id))
        """,
        // There are about a thousand ended jobs for each open job, so the next three indexes contain only open jobs. In
        // the first two of them, the column `state` is constant. They contain it so that SQLite can count jobs without
        // reading the table: for this, an index must contain every column of the query.
        "CREATE INDEX push_jobs_ready ON push_jobs (lane, turn, number, state) WHERE state = 'queued'",
        "CREATE INDEX push_jobs_waiting ON push_jobs (lane, due_at, number, state) WHERE state = 'waiting'",
        "CREATE INDEX push_jobs_open ON push_jobs (recipient, lane, turn) WHERE settled_at IS NULL",
        // For finding a newer job that supersedes another job. Contains open and ended jobs, but only those of orders
        // and routes.
        """
        CREATE INDEX push_jobs_news ON push_jobs (recipient, collapse_key, notification_id) WHERE collapse_key IS NOT NULL
        """,
        "CREATE INDEX push_jobs_ageing ON push_jobs (lane, expires_at) WHERE settled_at IS NULL",
        // Broadcasts: notifications for all drivers. A row exists until all push jobs of the broadcast have been
        // created. The drivers up to and including `after_owner` have their jobs. The driver `excepted` gets no job.
        """
        CREATE TABLE push_audiences (
            notification_id TEXT NOT NULL PRIMARY KEY, excepted TEXT, entity TEXT, after_owner TEXT NOT NULL)
        """,
    ]

    /// The badge of a push is the number of the recipient's unread notifications. `unread` is this number per channel.
    /// Each command that changes the number updates it, so that computing a badge reads only one row. `seen_at` is the
    /// time of the recipient's first action on the notification (view, accept or dismiss).
    private static let badges = [
        "ALTER TABLE notifications ADD COLUMN seen_at BIGINT",
        "ALTER TABLE channel_sequences ADD COLUMN unread BIGINT NOT NULL DEFAULT 0",
        seen(role: "driver"), seen(role: "customer"),
        """
        UPDATE channel_sequences SET unread = (SELECT COUNT(*) FROM notifications
            WHERE notifications.channel = channel_sequences.channel AND read_at IS NULL AND seen_at IS NULL)
        """,
        // `stray` is 1 if the notification on which the device reported is not in the log. The index is for counting
        // the stray steps of a subject, and for erasing a subject's steps.
        "ALTER TABLE notification_steps ADD COLUMN stray BIGINT NOT NULL DEFAULT 0",
        "CREATE INDEX notification_steps_by_subject ON notification_steps (subject, stray)",
    ]

    /// Sets `seen_at` from the steps stored so far. Only steps of the channel's owner count: for the channel
    /// `driver-42`, those of `driver:42`.
    private static func seen(role: String) -> String {
        """
        UPDATE notifications SET seen_at = (SELECT MIN(at) FROM notification_steps
            WHERE notification_id = notifications.id AND step IN ('action_view_now', 'action_accept', 'action_dismiss')
            AND subject = '\(role):' || SUBSTR(notifications.channel, \(role.utf8.count + 2)))
        WHERE channel LIKE '\(role)-%'
        """
    }

    private static let erasures = [
        // People whose data is still to be redacted in the notifications after `cursor`, up to and including `last_id`,
        // and in the responses stored after the time `answers_to`. `names` is a JSON array of the person's names; the
        // names are deleted when the redaction is done.
        """
        CREATE TABLE erasures (
            subject TEXT NOT NULL PRIMARY KEY, role TEXT NOT NULL, id TEXT NOT NULL, requested_at BIGINT NOT NULL,
            cursor TEXT NOT NULL, last_id TEXT NOT NULL, answers_to BIGINT NOT NULL, names TEXT NOT NULL)
        """,
        // For finding the rows that contain a person's name or positions.
        "CREATE INDEX orders_by_named_driver ON orders (driver_id) WHERE driver_name IS NOT NULL",
        "CREATE INDEX orders_by_customer ON orders (customer_id) WHERE customer_id IS NOT NULL",
        "CREATE INDEX routes_by_named_driver ON routes (driver_id) WHERE driver_name IS NOT NULL",
        "CREATE INDEX audit_by_actor ON audit (actor) WHERE details IS NOT NULL",
    ]

    /// A customer whose phone registered with a token that says when it was issued. A registration with an older token does
    /// not replace the customer's bookings.
    static let bookingLists = [
        "CREATE TABLE device_booking_lists (owner TEXT NOT NULL PRIMARY KEY, issued_at BIGINT)"
    ]
}
