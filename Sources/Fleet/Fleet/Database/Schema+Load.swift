extension Schema {
    /// Version 8: bounds on what one user can make the writer store, or search.
    static let load = [
        // All of a channel's notifications up to this sequence number are read, because the channel's owner has marked
        // all as read.
        "ALTER TABLE channel_sequences ADD COLUMN read_to BIGINT NOT NULL DEFAULT 0",
        // For marking all of a customer's entries as read.
        "CREATE INDEX inbox_entries_unread ON inbox_entries (recipient) WHERE read_at IS NULL",
        // For counting a user's stored responses, and for deleting the oldest.
        "CREATE INDEX idempotency_by_subject ON idempotency (subject, created_at)",
        // At most one row, which is written to find out whether the store can be written again.
        "CREATE TABLE write_probe (id BIGINT NOT NULL PRIMARY KEY, filler BLOB NOT NULL)",
    ]
}
