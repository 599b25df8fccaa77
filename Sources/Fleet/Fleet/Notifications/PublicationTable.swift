import Primitives

/// How far the log of notifications is published. See ``Schema/publication``.
struct PublicationTable {
    /// The name of recording it, in the operator's log.
    static let name = "publication"

    let database: Database

    /// Records what is published.
    func record(_ published: Published) throws(DatabaseError) {
        if let position = published.position {
            try database.change("UPDATE publication SET position = ?", .string(position))
        }
        for id in published.recovered { try forget(id) }
    }

    /// Adds a notification to those that wait for a subscriber.
    func remember(_ id: String) throws(DatabaseError) {
        try database.change(
            "INSERT INTO unpublished (notification_id) VALUES (?) ON CONFLICT (notification_id) DO NOTHING", .string(id))
    }

    /// Deletes a notification from those that wait for a subscriber.
    func forget(_ id: String) throws(DatabaseError) {
        try database.change("DELETE FROM unpublished WHERE notification_id = ?", .string(id))
    }

    /// Finds the notifications that earlier processes committed and did not publish. Call it at the start, before the
    /// first command.
    /// - Returns: the ids, in commit order.
    func recover() throws(DatabaseError) -> [String] {
        // If the nodes of a cluster were here: what the last of them that were alive have all written.
        try database.change(
            """
            UPDATE publication SET position = (SELECT MIN(written_id) FROM cluster_nodes \
            WHERE seen_at >= (SELECT MAX(seen_at) FROM cluster_nodes) - ?) \
            WHERE EXISTS (SELECT 1 FROM cluster_nodes)
            """, .integer(Timing.publicationNodeMax))
        try database.change("DELETE FROM cluster_nodes")
        let position = try database.first("SELECT position FROM publication", as: { $0.string(0) }) ?? ""
        try database.change(
            """
            INSERT INTO unpublished (notification_id) SELECT id FROM notifications WHERE id > ? \
            ON CONFLICT (notification_id) DO NOTHING
            """, .string(position))
        try database.change(
            """
            UPDATE publication SET position = (SELECT MAX(id) FROM notifications) \
            WHERE position < (SELECT MAX(id) FROM notifications)
            """)
        return try waiting()
    }

    /// The ids of the notifications that wait for a subscriber, in commit order.
    func waiting() throws(DatabaseError) -> [String] {
        try database.all("SELECT notification_id FROM unpublished ORDER BY notification_id", as: { $0.string(0) })
    }
}
