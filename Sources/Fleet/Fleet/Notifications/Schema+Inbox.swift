extension Schema {
    /// Version 6: what customers are pushed they can list; telemetry under every id that a phone knows.
    static let inbox = [
        // Notifications of a booking's channel that were pushed to customers. Such a notification can have several
        // recipients, so its marks are here, not in `notifications`. `recipient` is a customer, such as `customer:9`.
        // `after_sequence` is the last sequence number that the customer's own channel had then: where the entry stands
        // among the notifications of that channel.
        """
        CREATE TABLE inbox_entries (
            recipient TEXT NOT NULL, notification_id TEXT NOT NULL, after_sequence BIGINT NOT NULL,
            lifetime_end BIGINT NOT NULL, read_at BIGINT, seen_at BIGINT, PRIMARY KEY (recipient, notification_id))
        """,
        "CREATE INDEX inbox_entries_by_notification ON inbox_entries (notification_id)",
        "CREATE INDEX inbox_entries_expiring ON inbox_entries (lifetime_end)",
        // For counting expired notifications. Contains those for one person and those for all drivers: the names of the
        // other channels begin with a, b or t.
        """
        CREATE INDEX notifications_expiring ON notifications (expires_at)
            WHERE channel > 'customer-' AND channel < 'drivers-d'
        """,
        // FCM's names of messages end with the message's id, which is what phones know. RTRIM removes the id.
        """
        UPDATE push_jobs SET message_id = SUBSTR(message_id, LENGTH(RTRIM(message_id,
            'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:%_-.=')) + 1)
        WHERE message_id > 'projects/' AND message_id < 'projects0'
        """,
        "CREATE INDEX push_jobs_by_message ON push_jobs (message_id, number) WHERE message_id IS NOT NULL",
        "CREATE INDEX push_jobs_accepted ON push_jobs (notification_id, recipient) WHERE state = 'accepted'",
    ]
}
