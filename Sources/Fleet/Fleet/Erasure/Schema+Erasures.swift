extension Schema {
    /// Version 7: how far an erasure has searched the audit log and the steps of notifications.
    static let erasureSearch = [
        // The last audit entry and the last step that were searched; the step's key is a JSON array. `has_found` is 1 if
        // the search has added names or addresses to `names`.
        "ALTER TABLE erasures ADD COLUMN audit_cursor TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE erasures ADD COLUMN step_cursor TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE erasures ADD COLUMN has_found BIGINT NOT NULL DEFAULT 0",
    ]
}
