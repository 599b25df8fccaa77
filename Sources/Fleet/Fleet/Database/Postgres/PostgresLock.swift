import Glibc

/// The advisory lock that admits one gateway, or the nodes of one cluster, to a database. The session that has taken it keeps
/// it until it ends.
struct PostgresLock {
    /// Whether no other node of the cluster was connected when this one came.
    private(set) var isAlone = false
    private var isFirstSession = true

    /// Statements by which a node that was alone lets others in.
    static let sharing = "SELECT pg_advisory_lock_shared(\(key)); SELECT pg_advisory_unlock(\(key))"

    /// The number of the lock: one for each schema of the database.
    private static let key = "hashtextextended('fleetwire ' || current_schema(), 0)"

    /// Takes the lock that admits one gateway. The session keeps it.
    func take(_ session: PostgresSession) throws(DatabaseError) {
        // The server releases the lock of a process that was killed when it notices: here some milliseconds later, over a
        // network that is cut after the keepalives of `openSession`.
        for _ in 0..<20 {
            if try tryToLock(session) { return }
            poll(nil, 0, 50)
        }
        throw DatabaseError(
            .inUse, code: "PostgreSQL error", message: "another gateway uses this database", doing: "locking the store")
    }

    /// Takes the lock that nodes of a cluster share. The first session of a node that is alone has it exclusively until
    /// ``PostgresConnection/admitNodes()``: meanwhile it migrates, and publishes what the nodes before it have left behind.
    mutating func takeBesideNodes(_ session: PostgresSession, onWait: () -> Void) throws(DatabaseError) {
        if isFirstSession {
            isFirstSession = false
            // The sessions of nodes that were killed have ended by then.
            for _ in 0..<16 {
                isAlone = try tryToLock(session)
                if isAlone { return }
                poll(nil, 0, 50)
            }
        }
        // A node that is alone does not take long.
        for _ in 0..<200 {
            if try tryToLock(session, shared: true) { return }
            onWait()
            poll(nil, 0, 50)
        }
        throw DatabaseError(
            .inUse, code: "PostgreSQL error",
            message: "a gateway without cluster.nats uses this database, or a node that starts", doing: "locking the store")
    }

    /// Takes the lock, if it is free.
    private func tryToLock(_ session: PostgresSession, shared: Bool = false) throws(DatabaseError) -> Bool {
        let function = shared ? "pg_try_advisory_lock_shared" : "pg_try_advisory_lock"
        // Without a schema the lock has no number: `PostgresFitness` has refused that.
        let answer = try session.query("SELECT CASE WHEN \(function)(\(Self.key)) THEN 'yes' ELSE 'no' END").string(0, 0)
        return answer == "yes"
    }
}
