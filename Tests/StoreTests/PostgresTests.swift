import Testing

@testable import Fleet

@Suite struct PostgresTextTests {
    @Test(arguments: [
        ("SELECT 1", "SELECT 1", 0), ("SELECT a FROM t WHERE b = ? AND c = ?", "SELECT a FROM t WHERE b = $1 AND c = $2", 2),
        ("SELECT '?', ? || 'it''s ?'", "SELECT '?', $1 || 'it''s ?'", 1),
        ("VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)", 11),
    ]) func numbersParameters(sql: String, numbered: String, count: Int) {
        let result = PostgresStatement.numbered(sql)
        #expect(result.sql == numbered && result.count == count)
    }

    @Test(arguments: [
        ("postgresql://ann:secret@db.example:5432/fleet?sslmode=verify-full", "postgresql://ann@db.example:5432/fleet"),
        ("postgresql:///fleet?host=/run", "postgresql:///fleet"), ("postgres://db", "postgresql://db/"),
        ("postgresql://a:secret@one,two:2/fleet", "postgresql://a@one,two:,2/fleet"), ("secret", "a PostgreSQL database"),
        // Passwords that are not encoded.
        ("postgresql://ann:se@cret@db/fleet", "a PostgreSQL database"),
        ("postgresql://ann:sec%ret@db/fleet", "a PostgreSQL database"),
        ("postgresql://ann:sec/ret@db/fleet", "a PostgreSQL database"),
        ("postgresql://ann:12/ret@db/fleet", "a PostgreSQL database"),
    ]) func addressHidesThePassword(uri: String, description: String) {
        #expect(StoreAddress.postgres(uri).description == description)
    }

    @Test(arguments: [
        ("postgresql:///f?host=/run&sslmode=verify-full&sslrootcert=/c&ssl=true&keepalives=1", nil),
        (
            "postgresql://u:p@h/f?pgbouncer=true&connection_limit=5&sslmode=require",
            "has parameters that libpq does not know, remove them: pgbouncer, connection_limit; a pooler must pool sessions "
                + "(pool_mode = session), because the gateway prepares statements and keeps an advisory lock; the number of "
                + "connections is store.pool"
        ),
        (
            "postgresql://h/f?schema=x",
            "has parameters that libpq does not know, remove them: schema; a schema other than public is chosen by "
                + "options=-csearch_path%3DNAME"
        ),
        ("postgresql://h/f?sslmod=require", onlySSLMod),
        // libpq ends a password at @.
        ("postgresql://u:pass?word=x@h/f", nil), ("postgresql://u:pass?word&x@h/f?sslmod=1", onlySSLMod),
        // The rest of a password that is not encoded.
        ("postgresql://h/pass?hunter&word@h", badlyEncoded),
        ("postgresql://u:pa%ss@h/f", badlyEncoded), ("postgresql://h/f?hunter2=1", badlyEncoded),
    ]) func whatIsWrongWithAURLIsSaid(uri: String, problem: String?) {
        #expect(StoreAddress.postgres(uri).problem == problem)
    }

    private static let onlySSLMod = "has parameters that libpq does not know, remove them: sslmod"
    private static let badlyEncoded =
        "is no connection URI: encode special characters of the password, such as %2F for /"

    @Test func theFitnessOfADatabaseIsSaid() {
        func problem(
            _ encoding: String = "UTF8", _ schema: String? = "public", mayCreate: Bool = true, creates: Bool = true
        ) -> String? {
            let fitness = PostgresFitness(
                encoding: encoding, schema: schema, mayCreate: mayCreate, searchPath: "a, b", user: "ann")
            do throws(DatabaseError) {
                try fitness.check()
                if creates { try fitness.checkMayCreate() }
                return nil
            } catch {
                return error.kind == .unfit && !error.isTransient
                    ? StoreError(error, .postgres("postgres://h/f")).description : "?"
            }
        }
        #expect(problem() == nil && problem(mayCreate: false, creates: false) == nil)
        for encoding in ["SQL_ASCII", "LATIN1", "EUC_JP"] {
            #expect(problem(encoding)?.hasPrefix("open postgresql://h/f: the database has the encoding \(encoding), ") == true)
        }
        #expect(problem("UTF8", nil)?.contains("no schema of the search_path exists that the user ann may use: a, b") == true)
        #expect(problem(mayCreate: false)?.contains("GRANT CREATE, USAGE ON SCHEMA public TO ann") == true)
    }

    @Test(arguments: [
        (nil, DatabaseError.Kind.unreachable), ("08006", .unreachable), ("57P01", .unreachable), ("25006", .unreachable),
        ("57014", .temporary), ("40001", .temporary), ("40P01", .temporary), ("25P03", .temporary), ("53300", .temporary),
        ("55P03", .busy), ("53100", .full), ("42501", .forbidden), ("28P01", .forbidden), ("XX001", .damaged),
        ("XX002", .damaged), ("XX000", .other), ("23505", .other),
    ]) func errorsHaveTheKindOfTheirCode(code: String?, kind: DatabaseError.Kind) {
        #expect(DatabaseError(sqlState: code, message: "m", doing: "d").kind == kind)
    }

    @Test func reconnectsAtOnceAndThenAfterPausesThatDouble() {
        var backoff = ReconnectBackoff()
        #expect(backoff.isDue(at: 0))
        var now: Int64 = 0
        var pauses: [Int64] = []
        for _ in 0..<8 {
            backoff.failed(at: now) { $0.upperBound }
            let due = (0...20_000).first { backoff.isDue(at: now + $0) } ?? -1
            pauses.append(due)
            now += due
        }
        #expect(pauses == [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000])
        backoff = ReconnectBackoff()
        backoff.failed(at: 0) { $0.lowerBound }
        #expect(!backoff.isDue(at: 124) && backoff.isDue(at: 125))
    }

    @Test func anUnreachableServerIsAnError() {
        let address = StoreAddress.postgres("postgresql://ann:secret@/fleet?host=/nonexistent")
        let error = #expect(throws: StoreError.self) { try Database.open(readingFrom: address) }
        let text = error?.description ?? ""
        #expect(text.hasPrefix("open postgresql://ann@/fleet: ") && text.contains("No such file or directory"))
        #expect(text.hasSuffix("Check store.url, that the server runs, and that the user may connect to the database."))
        #expect(!text.contains("secret"))
    }
}

extension Trait where Self == ConditionTrait {
    static var postgresOnly: Self { .enabled(if: !TemporaryStore.isFile, "needs dev/with-postgres") }
}

extension TemporaryStore {
    /// Ends all sessions of gateways, as an administrator or a failover does. When it returns, their connections are closed.
    func endSessions() throws {
        let count = try unchecked().dump(
            """
            SELECT pg_terminate_backend(activity.pid, 10000) FROM pg_stat_activity AS activity JOIN pg_locks AS lock USING (pid) \
            WHERE lock.locktype = 'advisory' AND activity.query <> '' AND lock.objid = (\(Self.lockID))
            """)
        #expect(count == ["t"])
    }

    /// The lower half of the lock's number, as pg_locks shows it.
    private static let lockID = "hashtextextended('fleetwire ' || current_schema(), 0) & 4294967295"
}

/// What only a server does: it ends sessions.
@Suite(.postgresOnly) struct PostgresSessionTests {
    private let store = TemporaryStore()

    @Test func aLostSessionFailsItsTransactionAndTheNextOneWorks() throws {
        let executor = try store.executor()
        let error = #expect(throws: DatabaseError.self) {
            try executor.transaction { () throws(DatabaseError) in
                _ = try executor.execute(assign("A", to: "42"), now: noon)
                do { try store.endSessions() } catch { Issue.record(error) }
                _ = try executor.execute(assign("B", to: "42"), now: noon)
            }
        }
        #expect(error?.isTransient == true, "\(String(describing: error))")
        #expect(try executor.count("orders") == 0)
        #expect(try executor.commit(assign("C", to: "42")).status == 200)
        #expect(try executor.dump("orders").count == 1)
    }

    @Test func aSessionThatWasLostBetweenTwoTransactionsIsReplaced() throws {
        let executor = try store.executor()
        for code in ["A", "B"] {
            #expect(try executor.commit(assign(code, to: "42")).status == 200)
            try store.endSessions()
        }
        #expect(try executor.count("orders") == 2)
    }

    @Test func onlyOneGatewayWrites() throws {
        let first = try store.executor()
        let error = #expect(throws: StoreError.self) { try store.executor() }
        #expect(error == .inUse(store.address, by: nil))
        #expect(try first.commit(assign("A", to: "42")).status == 200)
    }

    /// What it has in memory is out of date.
    @Test func aGatewayThatWasReplacedWritesNoMore() throws {
        let replaced = try store.executor()
        #expect(try replaced.commit(assign("A", to: "42")).status == 200)
        try store.endSessions()
        do { #expect(try store.executor().commit(assign("B", to: "42")).status == 200) }
        let error = #expect(throws: DatabaseError.self) { try replaced.commit(assign("C", to: "42")) }
        #expect(error?.isTransient == true && error?.message.hasSuffix("restart this gateway") == true)
        #expect(try store.executor().count("orders") == 2)
    }

    @Test func theLockIsFreeOnceTheGatewayHasEnded() throws {
        for _ in 0..<3 { #expect(try store.executor().commit(assign("A", to: "42")).status == 200) }
    }

    /// A transaction that fails at its COMMIT, and not before it.
    @Test func aCommitThatTheServerRollsBackIsAnError() throws {
        let executor = try store.executor()
        try executor.database.run("CREATE TABLE once (id BIGINT UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        #expect(throws: DatabaseError.self) {
            try executor.transaction { () throws(DatabaseError) in
                for _ in 0..<2 { try executor.database.run("INSERT INTO once VALUES (1)") }
            }
        }
        #expect(try executor.database.dump("SELECT * FROM once") == [])
        #expect(throws: DatabaseError.self) {
            try executor.transaction { () throws(DatabaseError) in _ = try? executor.database.run("SELECT 1 / 0") }
        }
        #expect(try executor.commit(assign("A", to: "42")).status == 200)
    }

    @Test func readersCannotWrite() throws {
        _ = try store.executor()
        let reader = try Database.open(readingFrom: store.address)
        let error = #expect(throws: DatabaseError.self) { try reader.run("DELETE FROM orders") }
        #expect(error?.code == "PostgreSQL error 25006")
    }

    @Test func longStatementsEndAndMigrationsMayTakeLong() throws {
        let executor = try store.executor()
        #expect(try executor.database.dump("SHOW statement_timeout") == ["10s"])
        #expect(try executor.database.dump("SHOW lock_timeout") == ["3s"])
        #expect(try executor.database.dump("SHOW idle_in_transaction_session_timeout") == ["5s"])
        #expect(try executor.database.dump("SHOW synchronous_commit") == ["off"], "store.durability is normal")
    }

    /// Ids and cursors are compared by bytes, as SQLite does.
    @Test func textIsComparedByBytes() throws {
        let database = try store.executor().database
        let found = try database.dump(
            """
            SELECT DISTINCT collation_name FROM information_schema.columns \
            WHERE table_schema = current_schema() AND data_type = 'text'
            """)
        #expect(found == ["C"])
    }

    /// Columns of other types would be read wrongly: SUM of BIGINT is NUMERIC, for example.
    @Test func numbersAreReadInAllSizes() throws {
        let database = try store.executor().database
        let values = try database.first(
            "SELECT CAST(-9223372036854775807 AS BIGINT), CAST(-7 AS INTEGER), 3 > 2, COUNT(*) FROM orders",
            as: { row in (0..<4).map { row.integer($0) } })
        #expect(values == [-9_223_372_036_854_775_807, -7, 1, 0])
    }
}
