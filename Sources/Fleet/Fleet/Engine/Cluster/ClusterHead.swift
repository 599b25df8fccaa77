/// The row that every writing transaction of a cluster locks first: it makes the transactions of all nodes follow each other,
/// so that each sees what the ones before it have done.
///
/// One lock instead of many: nearly every action advances the sequences of `admin-channel` and `drivers-channel`, so the
/// nodes would wait for each other anyway, and could lock each other out. The time between two commits is what counts, and
/// a transaction contains all commands that wait on its node.
struct ClusterHead: Equatable {
    /// The position of the last entry of the log; 0: it has none.
    var position: Int64
    /// The ids of the last notification and of the last audit entry, and the number of the last push job.
    var notificationID: String
    var auditID: String
    var pushNumber: Int64
    /// When the last transaction committed: milliseconds since 1970 by the database's clock. Does not decrease.
    var writtenAt: Int64
    /// The epoch of the node that leads.
    var leader: String
    var leaderUntil: Int64
    /// The database's clock when the row was locked.
    let now: Int64

    /// Locks the row until the end of the transaction, and reads it. PostgreSQL evaluates `clock_timestamp()` before it waits
    /// for the lock; ``writtenAt`` tells the time at least.
    static let lock = """
        SELECT position, notification_id, audit_id, push_number, written_at, leader, leader_until, \
        CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) FROM cluster_head WHERE id = 1 FOR UPDATE
        """
}

extension ClusterHead {
    /// Reads the row that ``lock`` has returned. Nil if there is none.
    init?(_ result: PostgresResult) {
        guard result.rowCount == 1 else { return nil }
        self.init(
            position: result.integer(0, 0), notificationID: result.string(0, 1), auditID: result.string(0, 2),
            pushNumber: result.integer(0, 3), writtenAt: result.integer(0, 4), leader: result.string(0, 5),
            leaderUntil: result.integer(0, 6), now: max(result.integer(0, 7), result.integer(0, 4)))
    }
}
