extension Schema {
    /// Version 18: "mark all as read" costs the same for every inbox.
    static let readMarks = [
        // An inbox is read up to a notification, but not all of its rows say so yet: see ``ReadMarkTable``. `sequence` is
        // the last of the person's own channel, `entry` the last notification in `inbox_entries`, empty if there is none.
        // The rows up to `written_to` say so.
        """
        CREATE TABLE read_marks (
            channel TEXT NOT NULL, sequence BIGINT NOT NULL, entry TEXT NOT NULL, recipient TEXT NOT NULL,
            read_at BIGINT NOT NULL, written_to BIGINT NOT NULL, PRIMARY KEY (channel, sequence, entry))
        """,
        "CREATE INDEX read_marks_by_recipient ON read_marks (recipient, entry)",
        "CREATE INDEX read_marks_by_age ON read_marks (read_at, channel, sequence, entry)",
        // How many notifications of an inbox have no read mark: the answer to "mark all as read".
        "ALTER TABLE channel_sequences ADD COLUMN unmarked BIGINT NOT NULL DEFAULT 0",
        """
        UPDATE channel_sequences SET unmarked = (SELECT COUNT(*) FROM notifications
            WHERE notifications.channel = channel_sequences.channel AND read_at IS NULL)
        WHERE channel > 'driver-' AND channel < 'driver.' OR channel > 'customer-' AND channel < 'customer.'
        """,
        """
        UPDATE channel_sequences SET unmarked = unmarked + (SELECT COUNT(*) FROM inbox_entries
            WHERE recipient = 'customer:' || SUBSTR(channel_sequences.channel, 10) AND read_at IS NULL)
        WHERE channel > 'customer-' AND channel < 'customer.'
        """,
        // How far an erasure has deleted the deliveries of notifications for all drivers.
        "ALTER TABLE erasures ADD COLUMN broadcast_cursor BIGINT NOT NULL DEFAULT 0",
    ]
}
