import Glibc
import Threads

/// What the user of a connection does while that waits for the server.
package struct StoreWaitObserver {
    /// Called once a second while the server does not answer, and after each response.
    var onWait: () -> Void = {}
    /// Called about ten times a second while it is unknown whether the server has committed. Returns whether to wait
    /// longer; if not, the commit fails.
    var onUnknownCommit: (DatabaseError) -> Bool = { _ in false }
    /// Called before a store of an earlier version is migrated, which may take long, with its version and the new one.
    var onMigration: (_ from: Int, _ to: Int) -> Void = { _, _ in }
}

/// A connection to a PostgreSQL server: a session, and a new one when it is lost. Only one thread may use it.
///
/// A lost session makes the running transaction fail. The next transaction begins with a new session; while the server is
/// away, transactions fail at once between the attempts to connect (``ReconnectBackoff``).
///
/// Within a transaction, statements whose result nobody needs wait (``StatementQueue``) until one comes whose result is
/// needed, or the commit: all of them are one round trip. Their errors are thrown then. BEGIN is the first of them.
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
    /// How often this connection has waited for the server's response to statements.
    private(set) var roundTrips = 0

    private let uri: String
    private let access: Access
    private let observer: StoreWaitObserver
    private var session: PostgresSession?
    private var textCount = 0
    private var backoff = ReconnectBackoff()
    /// Why the last attempt to connect has failed.
    private var failure: DatabaseError?
    /// The error of a commit of which it was not waited for the outcome. Nothing is written after it, because that could
    /// make a later gateway take the unpublished commit for a published one.
    private var abandoned: DatabaseError?
    private var transaction: TransactionMode?
    /// Whether the server knows of the running transaction.
    private var isBegun = false
    private var queue = StatementQueue()
    private var prefetches = Prefetches()
    /// More statements do not wait, which limits the memory that they take.
    private static let queueMax = 256
    private var limitsStatements = true

    /// The mark of the last commit; at first that of an earlier process. Nil: this connection does not mark its commits
    /// yet, because the table need not exist.
    private var lastMark: String?
    /// The mark of a commit whose outcome is unknown.
    private var unknownMark: String?
    /// The beginning of this connection's marks.
    private let markPrefix = String(UInt64.random(in: 0 ... .max), radix: 36)
    private var markCount = 0

    private var lock = PostgresLock()
    /// Whether no other node of the cluster was connected when this one came.
    var isAlone: Bool { lock.isAlone }
    /// Whether writing transactions lock the cluster's row.
    private var locksHead = false
    /// The cluster's row, as the last transaction has found it.
    private(set) var head: ClusterHead?

    // Tests find a commit by the name of this statement.
    private static let commit = PostgresText("COMMIT", number: 0, name: "COMMIT")
    private static let mark = PostgresText(
        "UPDATE commit_marks SET mark = ? WHERE writer = ?", number: -1, name: "mark")
    private static let lockHead = PostgresText(ClusterHead.lock, number: -4, name: "lock_head")
    private static let begin: [TransactionMode: PostgresText] = [
        .writing: PostgresText(SQLDialect.postgres.begin(.writing), number: -2, name: "begin_writing"),
        .reading: PostgresText(SQLDialect.postgres.begin(.reading), number: -3, name: "begin_reading"),
    ]

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
        if !isBegun { session?.checkConnection() }
        if let session, !session.isLost { return session }
        guard !isBegun else {
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
        // A process that is stopped in a transaction, or whose machine has gone, keeps its locks no longer than this.
        try session.query(
            """
            SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '3s'; SET tcp_keepalives_idle = 5; \
            SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; SET tcp_user_timeout = '10s'
            """)
        // A session that waits for a lock ends soon after its process was killed, and with it its locks.
        if session.serverVersion >= 140_000 { try session.query("SET client_connection_check_interval = '300ms'") }
        try setLimits(of: session)
        try PostgresFitness(session).check()
        switch access {
        case .reading: try session.query("SET default_transaction_read_only = on")
        case .shared: break
        case .exclusive(let durability):
            if durability == .normal { try session.query("SET synchronous_commit = off") }
            try lock.take(session)
            if let lastMark { try checkMark(session, lastMark) }
        case .clustered(_, let durability):
            if durability == .normal { try session.query("SET synchronous_commit = off") }
            try lock.takeBesideNodes(session, onWait: observer.onWait)
            if let lastMark { try checkMark(session, lastMark) }
        }
        return session
    }

    /// Limits the time that a statement may take, or not.
    func limitStatements(_ isLimited: Bool) throws(DatabaseError) {
        limitsStatements = isLimited
        try setLimits(of: try usableSession())
    }

    /// Throws an error if tables cannot be created in this database.
    func checkMayCreate() throws(DatabaseError) { try PostgresFitness(try usableSession()).checkMayCreate() }

    private func setLimits(of session: PostgresSession) throws(DatabaseError) {
        try session.query("SET statement_timeout = '\(limitsStatements ? "10s" : "0")'")
        // The server ends a statement first, if it can.
        session.responseMax = limitsStatements ? 11_000 : .max / 2
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
        try query(PostgresLock.sharing)
    }

    /// Calls `body` with the session. If that was lost while nothing ran in it, calls it once more with a new one, unless
    /// `body` may have changed something.
    private func withSession<Result>(
        isHarmless: Bool, _ body: (PostgresSession) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        let session = try usableSession()
        roundTrips += 1
        do throws(DatabaseError) {
            let result = try body(session)
            // Not already after the login: a server may end each session after it.
            backoff = ReconnectBackoff()
            return result
        } catch {
            guard session.isLost, !isBegun, isHarmless else { throw error }
            return try body(try usableSession())
        }
    }

    // MARK: Statements

    func prepare(_ sql: String) throws(DatabaseError) -> any DatabaseStatement {
        textCount += 1
        return PostgresStatement(PostgresText(sql, number: textCount), on: self)
    }

    /// Runs a statement, after those that wait.
    func run(_ request: PostgresRequest) throws(DatabaseError) -> PostgresResult {
        if let result = try prefetched(request) { return result }
        append(request)
        let results = try runQueue()
        guard let result = results.last else { preconditionFailure("a statement without a result") }
        changedRows = result.changedRows
        return result
    }

    /// Runs a statement later, if a transaction runs.
    func change(_ request: PostgresRequest) throws(DatabaseError) {
        guard transaction != nil, queue.waiting.count < Self.queueMax else {
            _ = try run(request)
            return
        }
        append(request)
    }

    private func append(_ request: PostgresRequest) {
        queue.append(request)
        if !request.text.isReading, let table = request.text.changedTable { prefetches.remove(readingFrom: table) }
    }

    /// Lets a read wait for a later statement, if a transaction runs.
    func prefetch(_ request: PostgresRequest) {
        guard transaction != nil, !prefetches.contains(request) else { return }
        queue.append(request)
        prefetches.append(request, number: queue.count)
    }

    /// The result of a read that was prefetched; nil if it was not.
    private func prefetched(_ request: PostgresRequest) throws(DatabaseError) -> PostgresResult? {
        guard prefetches.contains(request) else { return nil }
        if prefetches.isWaiting(request) { _ = try runQueue() }
        return prefetches.take(request)
    }

    /// Runs the statements that wait. A transaction of which the server has answered nothing yet begins anew if its
    /// session was lost.
    private func runQueue(isHarmless: Bool? = nil) throws(DatabaseError) -> [PostgresResult] {
        let requests = queue.take()
        guard let last = requests.last else { return [] }
        // Also after an error, so that nothing of this transaction runs outside of it.
        defer { isBegun = transaction != nil }
        let results = try withSession(isHarmless: isHarmless ?? (transaction != nil || last.text.isReading)) {
            session throws(DatabaseError) in try session.run(requests)
        }
        queue.record(results)
        prefetches.record(results, last: queue.count)
        for (request, result) in zip(requests, results) {
            totalChangedRows += Int64(result.changedRows)
            request.onResult?(result)
        }
        return results
    }

    func execute(_ sql: String) throws(DatabaseError) { try query(sql) }

    /// Runs statements without parameters.
    /// - Returns: the rows of the last one, with columns as text.
    @discardableResult
    func query(_ sql: String) throws(DatabaseError) -> PostgresResult {
        _ = try runQueue()
        prefetches.removeAll()
        let isReading = sql.hasPrefix("SELECT")
        let result = try withSession(isHarmless: isReading) { session throws(DatabaseError) in try session.query(sql) }
        queue.record(result)
        changedRows = result.changedRows
        totalChangedRows += Int64(changedRows)
        return result
    }

    var changeMark: Int64 { queue.count }

    func hasChanged(since mark: Int64) throws(DatabaseError) -> Bool {
        if queue.lastChange <= mark, queue.count > mark { _ = try runQueue() }
        return queue.lastChange > mark
    }

    // MARK: Transactions

    func begin(_ mode: TransactionMode) throws(DatabaseError) {
        // Not only at the first statement: the caller need not do its work while the server is away.
        _ = try usableSession()
        transaction = mode
        if let begin = Self.begin[mode] { queue.append(PostgresRequest(text: begin, values: [])) }
        guard locksHead, mode == .writing else { return }
        do throws(DatabaseError) {
            head = ClusterHead(try run(PostgresRequest(text: Self.lockHead, values: [])))
        } catch {
            rollBack()
            throw error
        }
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
        guard let transaction else { preconditionFailure("a commit without a transaction") }
        defer { end() }
        // Only BEGIN waits.
        if !isBegun, queue.waiting.count == 1 { return }
        markCount += 1
        let mark = lastMark != nil && transaction == .writing ? "\(markPrefix)-\(markCount)" : nil
        if let mark { queue.append(PostgresRequest(text: Self.mark, values: [.string(mark), .string(writer)])) }
        queue.append(PostgresRequest(text: Self.commit, values: []))
        let error: DatabaseError
        do throws(DatabaseError) {
            if try runQueue(isHarmless: false).last?.command == "COMMIT" {
                if mark != nil { lastMark = mark }
                return
            }
            error = DatabaseError(
                .other, code: "PostgreSQL error", message: "the server has rolled the transaction back", doing: "COMMIT")
        } catch let failure {
            error = failure
        }
        // The outcome is unknown if the response to COMMIT has not come.
        guard let session, session.isLost, !session.hasAnswered, let mark else { throw error }
        end()
        session.close()
        if try isCommitted(mark, error) { return }
        throw error
    }

    /// Forgets the transaction.
    private func end() {
        transaction = nil
        isBegun = false
        queue.discard()
        prefetches.removeAll()
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
            poll(nil, 0, 100)
        }
    }

    func rollBack() {
        end()
        guard let session, !session.isLost, session.isInTransaction else { return }
        _ = try? session.query("ROLLBACK")
    }
}
