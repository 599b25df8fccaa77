/// The tables, as a list of migrations. A released migration never changes; changes go into a new one.
///
/// The statements run on SQLite and PostgreSQL: they use only the types that ``SQLDialect/schema(_:)`` knows, no
/// generated keys and no triggers. Times are milliseconds since 1970. JSON is TEXT, always written and read whole.
enum Schema {
    static let migrations = [
        Migration(version: 1, statements: bookkeeping + jobs + notifications + audit), Migration(version: 2, statements: push),
        Migration(version: 3, statements: publication), Migration(version: 4, statements: pushGuards),
        Migration(version: 5, statements: bookingLists), Migration(version: 6, statements: inbox),
        Migration(version: 7, statements: clock + erasureSearch), Migration(version: 8, statements: load),
        Migration(version: 9, statements: delivery), Migration(version: 10, statements: reminders),
        Migration(version: 11, statements: trips),
        Migration(version: 12, statements: tripDriverName), Migration(version: 13, statements: accounts),
        Migration(version: 14, statements: batches),
        Migration(version: 15, statements: codes), Migration(version: 16, statements: commitMarks),
        Migration(version: 17, statements: cluster), Migration(version: 18, statements: readMarks),
        Migration(version: 19, statements: fewCursors),
        Migration(version: 20, statements: codeLimits + canonicalPhones),
        Migration(version: 21, statements: growth, finish: packDevices),
        Migration(version: 22, statements: openJobs), Migration(version: 23, statements: corrections),
    ]

    private static let bookkeeping = [
        "CREATE TABLE schema_migrations (version BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)",
        // Stored responses to requests with an Idempotency-Key.
        """
        CREATE TABLE idempotency (
            subject TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, status BIGINT NOT NULL,
            body TEXT NOT NULL, created_at BIGINT NOT NULL, PRIMARY KEY (subject, key))
        """,
        "CREATE INDEX idempotency_by_age ON idempotency (created_at)",
    ]

    private static let jobs = [
        """
        CREATE TABLE orders (
            code TEXT NOT NULL PRIMARY KEY, status TEXT NOT NULL, driver_id TEXT, driver_name TEXT, version BIGINT NOT NULL,
            booking_id TEXT, booking_reference TEXT, customer_id TEXT, customer_name TEXT, pickup_address TEXT,
            dropoff_address TEXT, scheduled_at TEXT, total_gbp TEXT, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)
        """,
        """
        CREATE TABLE routes (
            id TEXT NOT NULL PRIMARY KEY, status TEXT NOT NULL, driver_id TEXT, driver_name TEXT, version BIGINT NOT NULL,
            route_number TEXT, bookings_count TEXT, drops_count TEXT, earnings_adjustment TEXT,
            created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL)
        """,
        "CREATE INDEX orders_by_booking ON orders (booking_id) WHERE booking_id IS NOT NULL",
        // There are about a hundred ended orders and routes for each open one, so open and ended rows have separate
        // partial indexes.
        "CREATE INDEX orders_open ON orders (driver_id, created_at) WHERE status NOT IN ('completed', 'cancelled')",
        "CREATE INDEX routes_open ON routes (driver_id, created_at) WHERE status NOT IN ('completed', 'cancelled')",
        "CREATE INDEX orders_final ON orders (updated_at) WHERE status IN ('completed', 'cancelled')",
        "CREATE INDEX routes_final ON routes (updated_at) WHERE status IN ('completed', 'cancelled')",
    ]

    private static let notifications = [
        """
        CREATE TABLE notifications (
            id TEXT NOT NULL PRIMARY KEY, channel TEXT NOT NULL, sequence BIGINT NOT NULL, event TEXT NOT NULL,
            data TEXT NOT NULL, correlation_id TEXT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
            created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, collapse_key TEXT NOT NULL, read_at BIGINT,
            UNIQUE (channel, sequence))
        """,
        "CREATE INDEX notifications_by_age ON notifications (created_at)",
        // The last sequence number of a channel outlives its notifications, so that no number is used twice. Channels
        // of single bookings (`passing` is 1) are many and short-lived, so retention deletes their rows.
        """
        CREATE TABLE channel_sequences (
            channel TEXT NOT NULL PRIMARY KEY, last BIGINT NOT NULL, passing BIGINT NOT NULL, used_at BIGINT NOT NULL)
        """,
        "CREATE INDEX channel_sequences_passing ON channel_sequences (used_at) WHERE passing = 1",
        // What happened to a notification, as the device of the user `subject` reported it. `at` is when the gateway
        // received the report; `told_at` is the time that the report contained. There is no foreign key, because
        // devices also report on notifications that are not in the log.
        """
        CREATE TABLE notification_steps (
            notification_id TEXT NOT NULL, step TEXT NOT NULL, subject TEXT NOT NULL, at BIGINT NOT NULL, told_at TEXT,
            detail TEXT, PRIMARY KEY (notification_id, step, subject))
        """,
        "CREATE INDEX notification_steps_by_age ON notification_steps (at)",
    ]

    private static let audit = [
        """
        CREATE TABLE audit (
            id TEXT NOT NULL PRIMARY KEY, at BIGINT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, order_code TEXT,
            route_id TEXT, correlation_id TEXT NOT NULL, status_before TEXT, driver_before TEXT, status_after TEXT,
            driver_after TEXT, reason TEXT, details TEXT)
        """,
        "CREATE INDEX audit_by_order ON audit (order_code, id) WHERE order_code IS NOT NULL",
        "CREATE INDEX audit_by_route ON audit (route_id, id) WHERE route_id IS NOT NULL",
        "CREATE INDEX audit_by_age ON audit (at)",
    ]
}
