extension Schema {
    /// Version 11: what the gateway knows of a trip besides the job.
    static let trips = [
        // The coordinates of the pickup and the drop-off, in degrees: JSON numbers as requests wrote them. Both of a pair
        // are NULL, or neither.
        "ALTER TABLE orders ADD COLUMN pickup_latitude TEXT",
        "ALTER TABLE orders ADD COLUMN pickup_longitude TEXT",
        "ALTER TABLE orders ADD COLUMN dropoff_latitude TEXT",
        "ALTER TABLE orders ADD COLUMN dropoff_longitude TEXT",
    ]
}
