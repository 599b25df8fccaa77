extension Schema {
    /// Version 11: what the gateway knows of a trip besides the job.
    static let trips =
        orderColumns + [
            // The cards of drivers. A driver of whom no admin has written a card has no row.
            """
            CREATE TABLE drivers (id TEXT NOT NULL PRIMARY KEY, version BIGINT NOT NULL, name TEXT, phone_number TEXT, \
            vehicle_make TEXT, vehicle_model TEXT, vehicle_color TEXT, license_plate TEXT, created_at BIGINT NOT NULL, \
            updated_at BIGINT NOT NULL)
            """,
            // The newest position of each driver who has a job under way. Degrees and metres are JSON numbers.
            """
            CREATE TABLE driver_positions (driver_id TEXT NOT NULL PRIMARY KEY, latitude TEXT NOT NULL, \
            longitude TEXT NOT NULL, heading TEXT, accuracy TEXT, recorded_at BIGINT NOT NULL)
            """,
            "CREATE INDEX driver_positions_by_age ON driver_positions (recorded_at)",
            // 1: the details contain a position, which is kept for a shorter time than the entry.
            "ALTER TABLE audit ADD COLUMN has_position BIGINT NOT NULL DEFAULT 0",
            "UPDATE audit SET has_position = 1 WHERE action = 'progress' AND details IS NOT NULL",
            "CREATE INDEX audit_positions ON audit (at) WHERE has_position = 1",
        ]

    /// Version 12: the driver's name in the token of the driver's reports (`TripRecord`).
    static let tripDriverName = [
        "ALTER TABLE orders ADD COLUMN trip_driver_name TEXT",
        // For erasure.
        "CREATE INDEX orders_by_named_trip ON orders (driver_id) WHERE trip_driver_name IS NOT NULL",
    ]

    /// Version 23: arrivals that are taken back (`TripRecord`), how fast a driver was, and the instructions for a delivery.
    static let corrections = [
        "ALTER TABLE orders ADD COLUMN corrected_at BIGINT",
        "ALTER TABLE orders ADD COLUMN left_at BIGINT",
        // Metres per second, a JSON number. A driver who passes the pickup during a restart has not arrived.
        "ALTER TABLE driver_positions ADD COLUMN speed TEXT",
        // How the driver finds the door, as the customer wrote it.
        "ALTER TABLE batch_orders ADD COLUMN instructions TEXT",
    ]

    private static let orderColumns = [
        // The coordinates of the pickup and the drop-off, in degrees: JSON numbers as requests wrote them. Both of a pair
        // are NULL, or neither.
        "ALTER TABLE orders ADD COLUMN pickup_latitude TEXT",
        "ALTER TABLE orders ADD COLUMN pickup_longitude TEXT",
        "ALTER TABLE orders ADD COLUMN dropoff_latitude TEXT",
        "ALTER TABLE orders ADD COLUMN dropoff_longitude TEXT",
        // The trip of the present driver, in milliseconds since 1970 (`TripRecord`).
        "ALTER TABLE orders ADD COLUMN trip_started_at BIGINT",
        "ALTER TABLE orders ADD COLUMN arrived_at BIGINT",
        "ALTER TABLE orders ADD COLUMN arrived_by_position BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE orders ADD COLUMN departed_at BIGINT",
        "ALTER TABLE orders ADD COLUMN completed_at BIGINT",
        "ALTER TABLE orders ADD COLUMN nearby_told_at BIGINT",
        "ALTER TABLE orders ADD COLUMN waiting_told_at BIGINT",
        "ALTER TABLE orders ADD COLUMN destination_near_told_at BIGINT",
        // Trips under way at the upgrade are followed from now on. When exactly their drivers arrived is not known, so
        // their customers are not told that a driver waits.
        """
        UPDATE orders SET trip_started_at = updated_at WHERE driver_id IS NOT NULL \
        AND status IN ('en_route', 'arrived', 'loading', 'in_transit', 'unloading')
        """,
        """
        UPDATE orders SET arrived_at = updated_at, waiting_told_at = updated_at \
        WHERE trip_started_at IS NOT NULL AND status <> 'en_route'
        """,
        "UPDATE orders SET departed_at = updated_at WHERE trip_started_at IS NOT NULL AND status = 'in_transit'",
        "UPDATE orders SET completed_at = updated_at WHERE status = 'completed'",
        "CREATE INDEX orders_by_reference ON orders (COALESCE(booking_reference, code), updated_at, code)",
    ]
}
