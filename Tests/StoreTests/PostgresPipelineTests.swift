import Testing

@testable import Fleet

/// Writes that are sent together with later statements.
@Suite(.postgresOnly) struct PostgresPipelineTests {
    private let store = TemporaryStore()

    private func database() throws -> Database {
        let database = try Database.open(store.address, durability: .normal, now: noon)
        try database.run("CREATE TABLE things (id BIGINT PRIMARY KEY, text TEXT)")
        return database
    }

    private func insert(_ id: Int, _ text: String = "", into database: Database) throws(DatabaseError) {
        try database.change("INSERT INTO things (id, text) VALUES (?, ?)", .integer(id), .string(text))
    }

    private func count(in database: Database) throws(DatabaseError) -> Int64? {
        try database.first("SELECT COUNT(*) FROM things", as: { $0.integer(0) })
    }

    private func endSessions() {
        do { try store.endSessions() } catch { Issue.record(error) }
    }

    @Test func writesWaitForTheNextStatementWithAResult() throws {
        let database = try database()
        func roundTrips(_ body: () throws(DatabaseError) -> Void) throws -> Int {
            let before = database.roundTrips ?? 0
            try database.transaction { () throws(DatabaseError) in try body() }
            return (database.roundTrips ?? 0) - before
        }
        #expect(try roundTrips {} == 0)
        let writing = try roundTrips { () throws(DatabaseError) in
            for id in 0..<10 { try insert(id, into: database) }
        }
        #expect(writing == 1)
        let reading = try roundTrips { () throws(DatabaseError) in
            for id in 10..<20 { try insert(id, into: database) }
            #expect(try count(in: database) == 20)
            try insert(20, into: database)
        }
        #expect(reading == 2)
        let limited = try roundTrips { () throws(DatabaseError) in
            for id in 21..<1_021 { try insert(id, into: database) }
        }
        #expect(limited == 4, "a part of them is sent before the commit")
        #expect(try count(in: database) == 1_021)
    }

    @Test(arguments: [false, true]) func anErrorOfAWriteUndoesAllAndNamesItsOwnStatement(atCommit: Bool) throws {
        let database = try database()
        func fill() throws {
            try database.transaction { () throws(DatabaseError) in
                try insert(1, into: database)
                try database.change("UPDATE things SET text = ? WHERE id = ?", .string("a"), .integer(1))
                try insert(1, into: database)
                // Not prepared, because the server skips it.
                try database.change("DELETE FROM things WHERE id = ?", .integer(2))
                if !atCommit { _ = try count(in: database) }
            }
        }
        let error = #expect(throws: DatabaseError.self) { try fill() }
        #expect(error?.code == "PostgreSQL error 23505" && error?.kind == .other, "\(String(describing: error))")
        #expect(error?.doing == "INSERT INTO things (id, text) VALUES (?, ?)")
        #expect(try count(in: database) == 0)
        #expect(throws: DatabaseError.self) { try fill() }
        #expect(try count(in: database) == 0)
    }

    @Test func anErrorOfTheCallerSendsNothing() throws {
        let database = try database()
        let before = database.roundTrips
        #expect(throws: DatabaseError.self) {
            try database.transaction { () throws(DatabaseError) in
                try insert(1, into: database)
                throw .unreadable("a value", doing: "reading")
            }
        }
        #expect(database.roundTrips == before)
        #expect(try count(in: database) == 0)
    }

    /// The server sends results while it is still to receive statements.
    @Test func muchInBothDirectionsAtOnceIsNoDeadlock() throws {
        let database = try database()
        let text = String(repeating: "x", count: 500_000)
        try database.transaction { () throws(DatabaseError) in
            for id in 0..<40 {
                try insert(id, text, into: database)
                try database.change("SELECT text, text FROM things WHERE id = ?", .integer(id))
            }
        }
        #expect(try database.first("SELECT SUM(LENGTH(text)) FROM things", as: { $0.integer(0) }) == 20_000_000)
    }

    @Test(arguments: [false, true]) func aSessionThatIsLostWithWritesThatWaitCommitsNothing(atCommit: Bool) throws {
        let database = try database()
        let error = #expect(throws: DatabaseError.self) {
            try database.transaction { () throws(DatabaseError) in
                #expect(try count(in: database) == 0)
                try insert(1, into: database)
                endSessions()
                if !atCommit { _ = try count(in: database) }
            }
        }
        #expect(error?.kind == .unreachable, "\(String(describing: error))")
        #expect(try count(in: database) == 0)
        try database.transaction { () throws(DatabaseError) in try insert(2, into: database) }
        #expect(try count(in: database) == 1)
    }

    /// Nothing in it has been answered, so the caller cannot notice.
    @Test(arguments: [false, true]) func aTransactionBeginsAnewIfItsFirstResponseDoesNotCome(atCommit: Bool) throws {
        let database = try database()
        try database.transaction { () throws(DatabaseError) in
            try insert(1, into: database)
            endSessions()
            if !atCommit { #expect(try count(in: database) == 1) }
        }
        #expect(try count(in: database) == 1)
        #expect(throws: DatabaseError.self) {
            try database.transaction { () throws(DatabaseError) in
                try insert(1, into: database)
                endSessions()
                if !atCommit { _ = try count(in: database) }
            }
        }
        #expect(try count(in: database) == 1)
    }

    @Test func afterAnErrorNothingOfTheTransactionIsExecuted() throws {
        let database = try database()
        #expect(throws: DatabaseError.self) {
            try database.transaction { () throws(DatabaseError) in
                try insert(1, into: database)
                _ = try? database.first("SELECT 1 / (id - 1) FROM things", as: { $0.integer(0) })
                try insert(2, into: database)
            }
        }
        #expect(try count(in: database) == 0)
    }

    /// The session ends while the server commits: only the mark tells the outcome.
    @Test func theMarkDecidesACommitThatIsSentWithItsWrites() throws {
        let database = try database()
        try database.run(
            """
            CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS \
            'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1); RETURN NULL; END'
            """)
        try database.run(
            """
            CREATE CONSTRAINT TRIGGER leaving AFTER INSERT ON things DEFERRABLE INITIALLY DEFERRED FOR EACH ROW \
            EXECUTE FUNCTION leave()
            """)
        let error = #expect(throws: DatabaseError.self) {
            try database.transaction { () throws(DatabaseError) in try insert(1, into: database) }
        }
        #expect(error?.kind == .unreachable && error?.doing == "COMMIT", "\(String(describing: error))")
        #expect(try count(in: database) == 0)
        try database.run("DROP TRIGGER leaving ON things")
        try database.transaction { () throws(DatabaseError) in try insert(2, into: database) }
        #expect(try count(in: database) == 1)
    }

    @Test func rowsOfAChangeComeByTheCommit() throws {
        let database = try database()
        var ids: [Int64] = []
        try database.transaction { () throws(DatabaseError) in
            for id in 1...3 {
                try database.change("INSERT INTO things (id) VALUES (?) RETURNING id", .integer(id)) { ids.append($0.integer(0)) }
            }
            #expect(ids == [])
        }
        #expect(ids == [1, 2, 3])
    }

    @Test func itIsKnownWhichStatementsHaveChangedRows() throws {
        let database = try database()
        try database.transaction { () throws(DatabaseError) in
            let start = database.changeMark
            #expect(try !database.hasChanged(since: start))
            try database.change("DELETE FROM things WHERE id = ?", .integer(1))
            #expect(try !database.hasChanged(since: start))
            let before = database.roundTrips
            try insert(1, into: database)
            #expect(try database.hasChanged(since: start))
            #expect(database.roundTrips == before, "an INSERT changes a row or fails")
            let afterwards = database.changeMark
            #expect(try !database.hasChanged(since: afterwards))
            try database.change("UPDATE things SET text = ?", .string("b"))
            let later = database.changeMark
            #expect(try database.hasChanged(since: afterwards))
            #expect(try !database.hasChanged(since: later), "what waited was before it")
        }
    }

    /// The statements that a batch of assignments waits for.
    @Test func anActionInABatchNeedsFewRoundTrips() throws {
        let executor = try store.executor()
        func batch(_ name: String) throws -> Int {
            let before = executor.database.roundTrips ?? 0
            try executor.transaction { () throws(DatabaseError) in
                for number in 0..<16 {
                    let command = assign("\(name)-\(number)", to: "\(number)", key: "\(name)-\(number)")
                    _ = try executor.execute(command, now: noon)
                }
            }
            return (executor.database.roundTrips ?? 0) - before
        }
        // One for each, with the stored response, the order and the sequence numbers. Another for the commit.
        #expect(try batch("first") <= 16 + 2, "the number of stored responses is counted once")
        #expect(try batch("second") <= 16 + 1)
        #expect(try executor.count("orders") == 32)
        let sequences = try executor.dump("channel_sequences").map { $0.split(separator: "|")[0...1].joined(separator: " ") }
        #expect(sequences.contains("admin-channel 64") && sequences.contains("driver-15 2"), "\(sequences)")
    }

    /// The turn of the driver's next job, and whether it is a new one.
    @Test func aPushNeedsTwoMoreRoundTrips() throws {
        let executor = try store.pushing()
        for id in 0..<16 { _ = try executor.commit(register(fcm("\(id)"), by: driver("\(id)"))) }
        let before = executor.database.roundTrips ?? 0
        for round in 1...2 {
            try executor.transaction { () throws(DatabaseError) in
                for id in 0..<16 { _ = try executor.execute(assign("\(round)-\(id)", to: "\(id)"), now: noon) }
            }
        }
        #expect((executor.database.roundTrips ?? 0) - before <= 2 * (16 * 3 + 1))
        #expect(try executor.count("push_jobs") == 32)
    }

    @Test func aPrefetchedReadNeedsNoRoundTripUntilAChange() throws {
        let database = try database()
        let byID: SQL = "SELECT text FROM things WHERE id = ?"
        /// Reads texts, and counts the round trips.
        func read(_ ids: Int...) throws(DatabaseError) -> (texts: [String?], roundTrips: Int) {
            let before = database.roundTrips ?? 0
            let texts = try ids.map { id throws(DatabaseError) in
                try database.first(byID, .integer(id), as: { $0.string(0) })
            }
            return (texts, (database.roundTrips ?? 0) - before)
        }
        try database.transaction { () throws(DatabaseError) in
            for id in 1...3 { try insert(id, "a", into: database) }
            for id in [1, 2, 4, 1] { try database.prefetch(byID, .integer(id)) }
            #expect(try count(in: database) == 3)
            #expect(try read(1, 4) == (["a", nil], 0))
            #expect(try read(3, 1) == (["a", "a"], 2), "one was not prefetched, the other is read again")
            try database.prefetch(byID, .integer(3))
            try database.change("UPDATE things SET text = ?", .string("b"))
            #expect(try read(2, 3) == (["b", "b"], 2))
            for id in 1...2 { try database.prefetch(byID, .integer(id)) }
            try database.change("UPDATE publication SET position = ?", .string(""))
            #expect(try read(2, 1) == (["b", "b"], 1), "another table was changed")
        }
        try database.prefetch(byID, .integer(1))
        #expect(try read(1) == (["b"], 1))
    }
}
