import Glibc
import Threads

/// What the user of a connection does while that waits for the server.
package struct StoreWaitObserver {
    /// Called once a second while the server does not answer, and after each response.
    var onWait: () -> Void = {}
    /// Called about ten times a second while it is unknown whether the server has committed. Returns whether to wait
    /// longer; if not, the commit fails.
    var onUnknownCommit: (DatabaseError) -> Bool = { _ in false }
}

/// A connection to a PostgreSQL server: a session, and a new one when it is lost. Only one thread may use it.
///
/// A lost session makes the running transaction fail. The next transaction begins with a new session; while the server is
/// away, transactions fail at once between the attempts to connect (``ReconnectBackoff``).
final class PostgresConnection: DatabaseConnection {
    enum Access {
        /// Writes, and keeps other gateways from writing.
        case exclusive(Durability)
        /// Writes as a node of a cluster, and keeps gateways that are none from writing.
        case clustered(ClusterMember, Durability)
        /// Writes beside a gateway.
        case shared
        case reading
    }

    let dialect = SQLDialect.postgres
    private(set) var changedRows = 0
    private(set) var totalChangedRows: Int64 = 0

    private let uri: String
    private let access: Access
    private let observer: StoreWaitObserver
    private var session: PostgresSession?
    private var sessionNumber = 0
    private var statementCount = 0
    private var backoff = ReconnectBackoff()
    /// Why the last attempt to connect has failed.
    private var failure: DatabaseError?
    /// The error of a commit of which it was not waited for the outcome. Nothing is written after it, because that could
    /// make a later gateway take the unpublished commit for a published one.
    private var abandoned: DatabaseError?
    private var transaction: Transaction?
    private var limitsStatements = true

    /// The mark of the last commit; at first that of an earlier process. Nil: this connection does not mark its commits
    /// yet, because the table need not exist.
    private var lastMark: String?
    /// The mark of a commit whose outcome is unknown.
    private var unknownMark: String?
    /// The beginning of this connection's marks.
    private let markPrefix = String(UInt64.random(in: 0 ... .max), radix: 36)
    private var markCount = 0

    /// Whether no other node of the cluster was connected when this one came.
    private(set) var isAlone = false
    /// Whether writing transactions lock the cluster's row.
    private var locksHead = false
    /// The cluster's row, as the last transaction has found it.
    private(set) var head: ClusterHead?

    private enum Transaction { case reading, writing }

    /// Connects.
    init(_ uri: String, _ access: Access, _ observer: StoreWaitObserver = StoreWaitObserver()) throws(DatabaseError) {
        self.uri = uri
        self.access = access
        self.observer = observer
        session = try openSession()
    }

    // MARK: Sessions

    /// The session; a new one if it was lost, unless a transaction runs in it.
    private func usableSession() throws(DatabaseError) -> PostgresSession {
        if let session, !session.isLost { return session }
        guard transaction == nil else {
            throw DatabaseError(
                .unreachable, code: "PostgreSQL error", message: "the session was lost", doing: "a transaction")
        }
        session?.close()
        session = nil
        if let abandoned { throw abandoned }
        let now = Clock.monotonicMilliseconds()
        if let failure, !backoff.isDue(at: now) { throw failure }
        do throws(DatabaseError) {
            let new = try openSession()
            session = new
            failure = nil
            return new
        } catch {
            backoff.failed(at: Clock.monotonicMilliseconds())
            // A session cannot begin for many reasons: a password that is being changed, a server that starts. Only an
            // operator's or the server's action ends them, so all of them are an outage.
            let outage = DatabaseError(.unreachable, code: error.code, message: error.message, doing: error.doing)
            failure = outage
            throw outage
        }
    }

    private func openSession() throws(DatabaseError) -> PostgresSession {
        let isWriting = if case .reading = access { false } else { true }
        let session = try PostgresSession(uri, writing: isWriting, onWait: observer.onWait)
        sessionNumber += 1
        // A process that is stopped in a transaction, or whose machine has gone, keeps its locks no longer than this.
        try session.query(
            """
            SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '3s'; SET tcp_keepalives_idle = 5; \
            SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; SET tcp_user_timeout = '10s'
            """)
        try setLimits(of: session)
        switch access {
        case .reading: try session.query("SET default_transaction_read_only = on")
        case .shared: break
        case .exclusive(let durability):
            if durability == .normal { try session.query("SET synchronous_commit = off") }
            try lock(session)
            if let lastMark { try checkMark(session, lastMark) }
        case .clustered(_, let durability):
            if durability == .normal { try session.query("SET synchronous_commit = off") }
            try lockBesideNodes(session)
            if let lastMark { try checkMark(session, lastMark) }
        }
        return session
    }

    /// Limits the time that a statement may take, or not.
    func limitStatements(_ isLimited: Bool) throws(DatabaseError) {
        limitsStatements = isLimited
        try setLimits(of: try usableSession())
    }

    private func setLimits(of session: PostgresSession) throws(DatabaseError) {
        try session.query("SET statement_timeout = '\(limitsStatements ? "10s" : "0")'")
        // The server ends a statement first, if it can.
        session.responseMax = limitsStatements ? 11_000 : .max / 2
    }

    /// The number of the lock: one for each schema of the database.
    private static let lockKey = "hashtextextended('fleetwire ' || current_schema(), 0)"

    /// Takes the lock that admits one gateway. The session keeps it.
    private func lock(_ session: PostgresSession) throws(DatabaseError) {
        // The server releases the lock of a process that was killed when it notices: here some milliseconds later, over a
        // network that is cut after the keepalives of `openSession`.
        for _ in 0..<20 {
            let result = try session.query("SELECT CASE WHEN pg_try_advisory_lock(\(Self.lockKey)) THEN 'yes' ELSE 'no' END")
            if result.string(0, 0) == "yes" { return }
            pause(milliseconds: 50)
        }
        throw DatabaseError(
            .busy, code: "PostgreSQL error", message: "another gateway uses this database", doing: "locking the store")
    }

    /// Takes the lock that nodes of a cluster share. The first session of a node that is alone has it exclusively until
    /// ``lockHead()``: meanwhile it migrates, and publishes what the nodes before it have left behind.
    private func lockBesideNodes(_ session: PostgresSession) throws(DatabaseError) {
        if sessionNumber == 1 {
            let result = try session.query("SELECT CASE WHEN pg_try_advisory_lock(\(Self.lockKey)) THEN 'yes' ELSE 'no' END")
            isAlone = result.string(0, 0) == "yes"
            if isAlone { return }
        }
        // A node that is alone does not take long.
        for _ in 0..<200 {
            let result = try session.query(
                "SELECT CASE WHEN pg_try_advisory_lock_shared(\(Self.lockKey)) THEN 'yes' ELSE 'no' END")
            if result.string(0, 0) == "yes" { return }
            observer.onWait()
            pause(milliseconds: 50)
        }
        throw DatabaseError(
            .busy, code: "PostgreSQL error",
            message: "a gateway without cluster.nats uses this database, or a node that starts", doing: "locking the store")
    }

    /// Lets writing transactions lock the cluster's row from now on.
    func lockHead() throws(DatabaseError) {
        locksHead = true
        _ = try begin(.writing)
        rollBack()
    }

    /// Lets other nodes in, if this one was alone.
    func admitNodes() throws(DatabaseError) {
        guard isAlone else { return }
        try query("SELECT pg_advisory_lock_shared(\(Self.lockKey)); SELECT pg_advisory_unlock(\(Self.lockKey))")
    }

    private func pause(milliseconds: Int32) { poll(nil, 0, milliseconds) }

    /// Calls `body` with the session. If that was lost while nothing ran in it, calls it once more with a new one, unless
    /// `body` may have changed something.
    private func withSession<Result>(
        _ body: (PostgresSession) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        let session = try usableSession()
        do throws(DatabaseError) {
            let result = try body(session)
            // Not already after the login: a server may end each session after it.
            backoff = ReconnectBackoff()
            return result
        } catch {
            let isHarmless = error.doing.hasPrefix("SELECT") || error.doing.hasPrefix("BEGIN")
            guard session.isLost, transaction == nil, isHarmless else { throw error }
            return try body(try usableSession())
        }
    }

    // MARK: Statements

    func prepare(_ sql: String) throws(DatabaseError) -> any DatabaseStatement {
        statementCount += 1
        return PostgresStatement(sql, name: "s\(statementCount)", on: self)
    }

    /// Runs a statement of this connection.
    func run(_ statement: PostgresStatement, _ values: [SQLValue]) throws(DatabaseError) -> PostgresResult {
        let result = try withSession { session throws(DatabaseError) in
            if statement.preparedBy != sessionNumber {
                try session.prepare(statement.numberedSQL, as: statement.name)
                statement.preparedBy = sessionNumber
            }
            return try session.run(statement.name, values, doing: statement.sql)
        }
        count(result)
        return result
    }

    func execute(_ sql: String) throws(DatabaseError) { try query(sql) }

    /// Runs a statement without parameters.
    /// - Returns: its rows, with columns as text.
    @discardableResult
    func query(_ sql: String) throws(DatabaseError) -> PostgresResult {
        let result = try withSession { session throws(DatabaseError) in try session.query(sql) }
        count(result)
        return result
    }

    private func count(_ result: PostgresResult) {
        guard !result.command.hasPrefix("SELECT") else { return }
        changedRows = result.affectedRows
        totalChangedRows += Int64(changedRows)
    }

    // MARK: Transactions

    func begin(_ mode: TransactionMode) throws(DatabaseError) {
        let locks = locksHead && mode == .writing
        let sql = locks ? "BEGIN ISOLATION LEVEL READ COMMITTED; \(ClusterHead.lock)" : dialect.begin(mode)
        do throws(DatabaseError) {
            let result = try withSession { session throws(DatabaseError) in try session.query(sql) }
            if locks { head = ClusterHead(result) }
        } catch {
            // The lock may have failed after BEGIN.
            rollBack()
            throw error
        }
        transaction = mode == .writing ? .writing : .reading
    }

    /// Lets each commit store a mark from now on, by which a later session finds out whether it was done. The server's own
    /// number of a transaction is no such mark: after a crash, the server may give it to another transaction.
    func markCommits() throws(DatabaseError) {
        try query("INSERT INTO commit_marks (writer, mark) VALUES ('\(writer)', '') ON CONFLICT (writer) DO NOTHING")
        lastMark = try storedMark(in: usableSession())
    }

    /// Whose marks this connection stores.
    private var writer: String { if case .clustered(let member, _) = access { member.epoch } else { "gateway" } }

    private func storedMark(in session: PostgresSession) throws(DatabaseError) -> String {
        // As a node: the lost session's transaction has ended once its lock is free.
        if locksHead {
            try session.query("BEGIN; SELECT 1 FROM cluster_head WHERE id = 1 FOR UPDATE")
            try session.query("COMMIT")
        }
        return try session.query("SELECT COALESCE(MAX(mark), '') FROM commit_marks WHERE writer = '\(writer)'").string(0, 0)
    }

    /// Throws an error if the database is not as this connection left it: another gateway has written since this one lost
    /// its session, and the lock with it, or the server has lost commits. What this process has in memory is then wrong,
    /// and only a new process reads it again.
    private func checkMark(_ session: PostgresSession, _ lastMark: String) throws(DatabaseError) {
        let mark = try storedMark(in: session)
        guard mark == lastMark || mark == unknownMark else {
            throw DatabaseError(
                .busy, code: "PostgreSQL error",
                message: "the database has other commits than this gateway has made: restart this gateway",
                doing: "locking the store")
        }
    }

    func commit() throws(DatabaseError) {
        guard let transaction, let session else { preconditionFailure("a commit without a transaction") }
        self.transaction = nil
        markCount += 1
        let mark = lastMark != nil && transaction == .writing ? "\(markPrefix)-\(markCount)" : nil
        let error: DatabaseError
        do throws(DatabaseError) {
            let marking = mark.map { "UPDATE commit_marks SET mark = '\($0)' WHERE writer = '\(writer)'; " }
            let result = try session.query("\(marking ?? "")COMMIT")
            if result.command == "COMMIT" {
                if mark != nil { lastMark = mark }
                return
            }
            error = DatabaseError(
                .other, code: "PostgreSQL error", message: "the server has rolled the transaction back", doing: "COMMIT")
        } catch let failure {
            error = failure
        }
        guard session.isLost, let mark else { throw error }
        session.close()
        if try isCommitted(mark, error) { return }
        throw error
    }

    /// Asks the server whether a transaction was committed whose session was lost during the commit. Waits for the server:
    /// the caller must not go on without knowing, because it publishes what was committed, once.
    ///
    /// A new session has the gateways' lock, so the lost session has ended, and with it its transaction.
    /// - Throws: `failure`, if ``StoreWaitObserver/onUnknownCommit`` does not wait longer.
    private func isCommitted(_ mark: String, _ failure: DatabaseError) throws(DatabaseError) -> Bool {
        unknownMark = mark
        defer { unknownMark = nil }
        // Any error means that the outcome is still unknown.
        while true {
            if let session = try? usableSession(), let stored = try? storedMark(in: session) {
                if stored == mark { lastMark = mark }
                return stored == mark
            }
            guard observer.onUnknownCommit(self.failure ?? failure) else {
                abandoned = failure
                throw failure
            }
            pause(milliseconds: 100)
        }
    }

    func rollBack() {
        transaction = nil
        guard let session, !session.isLost, session.isInTransaction else { return }
        _ = try? session.query("ROLLBACK")
    }
}
