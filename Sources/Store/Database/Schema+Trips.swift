extension Schema {
    /// Version 11: what the gateway knows of a trip besides the job.
    static let trips = [
        // The coordinates of the pickup and the drop-off, in degrees: JSON numbers as requests wrote them. Both of a pair
        // are NULL, or neither.
        "ALTER TABLE orders ADD COLUMN pickup_latitude TEXT",
        "ALTER TABLE orders ADD COLUMN pickup_longitude TEXT",
        "ALTER TABLE orders ADD COLUMN dropoff_latitude TEXT",
        "ALTER TABLE orders ADD COLUMN dropoff_longitude TEXT",
        // The cards of drivers. A driver of whom no admin has written a card has no row.
        """
        CREATE TABLE drivers (
            id TEXT NOT NULL PRIMARY KEY, version BIGINT NOT NULL, name TEXT, phone_number TEXT, vehicle_make TEXT,
            vehicle_model TEXT, vehicle_color TEXT, license_plate TEXT, created_at BIGINT NOT NULL,
            updated_at BIGINT NOT NULL)
        """,
    ]
}
