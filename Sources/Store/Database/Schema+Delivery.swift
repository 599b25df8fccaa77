extension Schema {
    /// Version 9: which notifications reached which device.
    static let delivery = [
        // The last sequence number of a channel that a device of an owner has confirmed. `device` is empty for all
        // clients of the owner that name no device. `updated_at` is when the device last subscribed, give or take a day.
        """
        CREATE TABLE cursors (
            channel TEXT NOT NULL, owner TEXT NOT NULL, device TEXT NOT NULL, sequence BIGINT NOT NULL,
            updated_at BIGINT NOT NULL, PRIMARY KEY (channel, owner, device))
        """,
        "CREATE INDEX cursors_by_age ON cursors (updated_at)",
        // One row per notification and device of an owner: when it was first written to a connection of the device, and
        // when the device confirmed it. The key begins with the notification's channel and sequence number.
        """
        CREATE TABLE deliveries (
            channel TEXT NOT NULL, sequence BIGINT NOT NULL, owner TEXT NOT NULL, device TEXT NOT NULL,
            written_at BIGINT NOT NULL, confirmed_at BIGINT, PRIMARY KEY (channel, sequence, owner, device))
        """,
        // Notifications of a person's channel up to this sequence number are not replayed: the person was erased.
        "ALTER TABLE channel_sequences ADD COLUMN erased_to BIGINT NOT NULL DEFAULT 0",
    ]
}
