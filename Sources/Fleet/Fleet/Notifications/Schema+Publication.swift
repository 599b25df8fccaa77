extension Schema {
    /// Version 3: how far the log of notifications is published, so that a crash between a commit and the publication of
    /// its notifications loses none of them.
    static let publication = [
        // One row. All notifications up to and including the id `position` are published, except those in `unpublished`.
        // Ids increase in commit order, so an id is a position in the log. A migrated database starts with all published.
        "CREATE TABLE publication (position TEXT NOT NULL)",
        "INSERT INTO publication (position) SELECT COALESCE(MAX(id), '') FROM notifications",
        // Notifications that an earlier process committed and did not publish. Each waits for a subscriber.
        "CREATE TABLE unpublished (notification_id TEXT NOT NULL PRIMARY KEY)",
    ]
}
