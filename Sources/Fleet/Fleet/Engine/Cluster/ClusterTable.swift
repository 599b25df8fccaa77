/// The cluster's row, log and nodes: see ``Schema/cluster``.
struct ClusterTable {
    let database: Database

    // MARK: The row

    /// Adds the row, if it is missing.
    func create() throws(DatabaseError) {
        try database.change(
            """
            INSERT INTO cluster_head (id, position, notification_id, audit_id, push_number, written_at, leader, leader_until) \
            VALUES (1, 0, '', '', 0, 0, '', 0) ON CONFLICT (id) DO NOTHING
            """)
    }

    /// Goes on behind what gateways without a cluster have written. They do not use the row.
    func goOn() throws(DatabaseError) {
        try database.change(
            """
            UPDATE cluster_head SET leader = '', leader_until = 0, \
            notification_id = (SELECT COALESCE(MAX(id), '') FROM notifications), \
            audit_id = (SELECT COALESCE(MAX(id), '') FROM audit), \
            push_number = (SELECT COALESCE(MAX(number), 0) FROM push_jobs)
            """)
        // The nodes use the database's clock.
        try database.change("DELETE FROM clock_readings")
    }

    func store(_ head: ClusterHead) throws(DatabaseError) {
        try database.change(
            """
            UPDATE cluster_head SET position = ?, notification_id = ?, audit_id = ?, push_number = ?, written_at = ?, \
            leader = ?, leader_until = ?
            """, .integer(head.position), .string(head.notificationID), .string(head.auditID), .integer(head.pushNumber),
            .integer(head.now), .string(head.leader), .integer(head.leaderUntil))
    }

    // MARK: The log

    func append(_ entry: LogEntry, of epoch: String, at now: Int64) throws(DatabaseError) {
        try database.change(
            "INSERT INTO cluster_log (position, epoch, committed_at, record) VALUES (?, ?, ?, ?)",
            .integer(entry.position), .string(epoch), .integer(now), .blob(entry.record))
    }

    /// The entries behind a position, in order.
    func entries(after position: Int64) throws(DatabaseError) -> [LogEntry] {
        try database.all(
            "SELECT position, record FROM cluster_log WHERE position > ? ORDER BY position", .integer(position),
            as: { row in LogEntry(position: row.integer(0), record: row.bytes(1)) })
    }

    // MARK: Nodes

    /// Notes that a node lives, and which notification it has written to its connections last.
    /// - Parameters:
    ///   - isNew: whether `written` replaces what is stored; if not, it is stored for a new node only.
    func store(_ member: ClusterMember, written: String, isNew: Bool, at now: Int64) throws(DatabaseError) {
        try database.change(
            """
            INSERT INTO cluster_nodes (epoch, name, written_id, seen_at) VALUES (?, ?, ?, ?) ON CONFLICT (epoch) DO UPDATE SET \
            seen_at = excluded.seen_at, \
            written_id = CASE WHEN ? = 1 THEN excluded.written_id ELSE cluster_nodes.written_id END
            """, .string(member.epoch), .string(member.name), .string(written), .integer(now), .integer(isNew ? 1 : 0))
    }

    /// Removes a node that has ended in order. If it is the last one, the next gateway goes on behind what it has written.
    func remove(_ epoch: String) throws(DatabaseError) {
        try database.change(
            """
            UPDATE publication SET position = (SELECT written_id FROM cluster_nodes WHERE epoch = ?) \
            WHERE EXISTS (SELECT 1 FROM cluster_nodes WHERE epoch = ?)
            """, .string(epoch), .string(epoch))
        try database.change("DELETE FROM cluster_nodes WHERE epoch = ?", .string(epoch))
        try database.change("DELETE FROM commit_marks WHERE writer = ?", .string(epoch))
    }

    /// Deletes at most `most` entries of before a time, the oldest first, and as many nodes with their marks.
    /// - Returns: the number of entries.
    func deleteOld(before time: Int64, most: Int) throws(DatabaseError) -> Int {
        // By the position, which the primary key has: entries are in the order of their times.
        let deleted = try database.changeCountingRows(
            """
            DELETE FROM cluster_log WHERE position IN (SELECT position FROM cluster_log ORDER BY position LIMIT ?) \
            AND committed_at < ?
            """, .integer(most), .integer(time))
        try database.change(
            """
            DELETE FROM commit_marks WHERE writer IN (SELECT epoch FROM cluster_nodes WHERE seen_at < ? ORDER BY seen_at, epoch \
            LIMIT ?)
            """, .integer(time), .integer(most))
        try database.change(
            """
            DELETE FROM cluster_nodes WHERE epoch IN (SELECT epoch FROM cluster_nodes WHERE seen_at < ? ORDER BY seen_at, epoch \
            LIMIT ?)
            """, .integer(time), .integer(most))
        return deleted
    }
}
