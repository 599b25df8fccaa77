extension Schema {
    /// Version 17: what the nodes of a cluster share. SQLite files have the tables, too, and leave them empty.
    static let cluster = [
        // One row. Every writing transaction locks it first, so that the transactions of all nodes follow each other; the
        // rest of the row is where the next one goes on. `leader` is the epoch of the node that leads, until the database's
        // clock says `leader_until`.
        """
        CREATE TABLE cluster_head (
            id BIGINT NOT NULL PRIMARY KEY, position BIGINT NOT NULL, notification_id TEXT NOT NULL, audit_id TEXT NOT NULL,
            push_number BIGINT NOT NULL, written_at BIGINT NOT NULL, leader TEXT NOT NULL, leader_until BIGINT NOT NULL)
        """,
        // What each transaction has changed that other nodes have in memory, or publish.
        """
        CREATE TABLE cluster_log (
            position BIGINT NOT NULL PRIMARY KEY, epoch TEXT NOT NULL, committed_at BIGINT NOT NULL, record BLOB NOT NULL)
        """,
        // The nodes, and the last notification that each of them has written to its connections.
        """
        CREATE TABLE cluster_nodes (
            epoch TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, written_id TEXT NOT NULL, seen_at BIGINT NOT NULL)
        """,
    ]
}
