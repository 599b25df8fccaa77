extension Schema {
    /// Version 7: the trusted clock.
    static let clock = [
        // What the clocks showed at up to three moments (`ClockTable`). `wall` is in milliseconds since 1970, `uptime` in
        // milliseconds since the start of the machine, whose run `boot_id` identifies.
        """
        CREATE TABLE clock_readings (
            name TEXT NOT NULL PRIMARY KEY, wall BIGINT NOT NULL, uptime BIGINT NOT NULL, boot_id TEXT NOT NULL)
        """
    ]
}
