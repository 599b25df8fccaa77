extension Schema {
    /// Version 9: which notifications reached which device.
    static let delivery = [
        // The last sequence number of a channel that a device of an owner has confirmed. `device` is empty for all
        // clients of the owner that name no device. `created_at` is when the device first subscribed, `updated_at` when
        // it last did, give or take an hour.
        """
        CREATE TABLE cursors (
            channel TEXT NOT NULL, owner TEXT NOT NULL, device TEXT NOT NULL, sequence BIGINT NOT NULL,
            created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, PRIMARY KEY (channel, owner, device))
        """,
        "CREATE INDEX cursors_by_age ON cursors (updated_at)",
        // One row per notification and device of an owner: when it was first written to a connection of the device, and
        // when the device confirmed it. The key begins with the notification's channel and sequence number.
        """
        CREATE TABLE deliveries (
            channel TEXT NOT NULL, sequence BIGINT NOT NULL, owner TEXT NOT NULL, device TEXT NOT NULL,
            written_at BIGINT NOT NULL, confirmed_at BIGINT, PRIMARY KEY (channel, sequence, owner, device))
        """,
        // When a notification was first written to any recipient, first confirmed, and first acknowledged: what
        // `deliveries` and the marks say of each recipient, so that lists and counts need not look there.
        "ALTER TABLE notifications ADD COLUMN written_at BIGINT",
        "ALTER TABLE notifications ADD COLUMN confirmed_at BIGINT",
        "ALTER TABLE notifications ADD COLUMN acknowledged_at BIGINT",
        "UPDATE notifications SET acknowledged_at = COALESCE(seen_at, read_at)",
        // Whether the notification is for one person or for all drivers, and nobody has confirmed or acknowledged it. Of
        // those, the notifications that have not expired are a small part of the log.
        "ALTER TABLE notifications ADD COLUMN unconfirmed BIGINT NOT NULL DEFAULT 0",
        "CREATE INDEX notifications_unconfirmed ON notifications (expires_at) WHERE unconfirmed = 1",
        // The last notification that was looked at when its time to be confirmed had ended.
        "CREATE TABLE confirmation_checks (position TEXT NOT NULL)",
        "INSERT INTO confirmation_checks (position) SELECT COALESCE(MAX(id), '') FROM notifications",
        // Whether a confirmation or acknowledgement cancels the push: those of entries with `push: fallback`.
        "ALTER TABLE push_jobs ADD COLUMN fallback BIGINT NOT NULL DEFAULT 0",
        // Whether the push is only for drivers who have neither confirmed nor acknowledged the notification.
        "ALTER TABLE push_audiences ADD COLUMN reminder BIGINT NOT NULL DEFAULT 0",
        // Notifications of a person's channel up to this sequence number are not replayed: the person was erased.
        "ALTER TABLE channel_sequences ADD COLUMN erased_to BIGINT NOT NULL DEFAULT 0",
    ]
}
