import Testing

@testable import Fleet

@Suite struct StatementTests {
    private let store = TemporaryStore()

    private func database() throws -> Database {
        let database = try store.unchecked()
        try database.run("DROP TABLE IF EXISTS things")
        let table = "CREATE TABLE things (name TEXT, bytes BLOB, number BIGINT)"
        try database.run(database.connection.dialect.schema(table))
        return database
    }

    static let hostileTexts = [
        "", "'", "''", "\"", "'; DROP TABLE things; --", "?", ":name", "%_\\", "\u{0}", "before\u{0}after", "\u{FEFF}", "Zoë 🚚",
        "\u{212A}", "line\nline\r\n", String(repeating: "x", count: 100_000),
    ]

    // The texts are not passed as test arguments, because the test runner would print them.
    @Test func returnsEveryTextUnchanged() throws {
        // PostgreSQL stores U+FFFD instead of U+0000.
        for text in Self.hostileTexts where TemporaryStore.isFile || !text.utf8.contains(0) { try check(text) }
    }

    private func check(_ text: String) throws {
        let database = try database()
        try database.change("INSERT INTO things (name) VALUES (?)", .string(text))
        let found = try database.first(
            TemporaryStore.isFile
                ? "SELECT name, LENGTH(CAST(name AS BLOB)) FROM things WHERE name = ?"
                : "SELECT name, OCTET_LENGTH(name) FROM things WHERE name = ?", .string(text),
            as: { row in (row.string(0), row.integer(1), row.bytes(0)) })
        #expect(found?.0.utf8.elementsEqual(text.utf8) == true)
        #expect(found?.1 == Int64(text.utf8.count))
        #expect(found?.2 == Array(text.utf8))
    }

    @Test func distinguishesNullFromEmpty() throws {
        let database = try database()
        for values: (SQLValue, SQLValue, SQLValue) in [
            (.string(String?.none), .null, .null), (.string(""), .blob([]), .integer(0)),
            (.utf8([UInt8]()), .blob([0, 255]), .integer(Int64.min)),
        ] {
            try database.change("INSERT INTO things (name, bytes, number) VALUES (?, ?, ?)", values.0, values.1, values.2)
        }
        let rows = try database.all(
            "SELECT name, bytes, number FROM things",
            as: { row in (row.optionalString(0), row.optionalBytes(1), row.optionalInteger(2)) })
        #expect(rows.map(\.0) == [nil, "", ""])
        #expect(rows.map(\.1) == [nil, [], [0, 255]])
        #expect(rows.map(\.2) == [nil, 0, Int64.min])
        if TemporaryStore.isFile {
            let types = try database.dump("SELECT typeof(name), typeof(bytes) FROM things")
            #expect(types == ["null|null", "text|blob", "text|blob"])
        }
    }

    @Test func errorNamesTheStatementWithoutItsValues() throws {
        let database = try database()
        try database.run("CREATE UNIQUE INDEX once ON things (name)")
        func insert(_ name: String) throws(DatabaseError) {
            try database.change("INSERT INTO things (name) VALUES (?)", .string(name))
        }
        try insert("a secret")
        let error = #expect(throws: DatabaseError.self) { try insert("a secret") }
        let reason =
            TemporaryStore.isFile
            ? "SQLite error 2067 (UNIQUE constraint failed: things.name)"
            : "PostgreSQL error 23505 (duplicate key value violates unique constraint \"once\")"
        #expect(error?.kind == .other && error?.description == "\(reason) while INSERT INTO things (name) VALUES (?)")
        // The statement can run again after an error.
        try insert("another")
        #expect(throws: DatabaseError.self) { try database.change("SELECT nothing FROM things") }
    }

    @Test func stopsAtTheFirstErrorOfTheClosure() throws {
        let database = try database()
        for number in 0..<3 { try database.run("INSERT INTO things (number) VALUES (\(number))") }
        var seen = 0
        for _ in 0..<2 {
            #expect(throws: DatabaseError.self) {
                try database.each("SELECT number FROM things") { row throws(DatabaseError) in
                    seen += 1
                    throw .unreadable("a number", doing: row.sql)
                }
            }
        }
        #expect(seen == 2)
    }

    // MARK: Cache

    @Test func preparesEachLiteralOnce() throws {
        let database = try database()
        let before = database.preparedSQL.count
        for number in 0..<10 { try database.change("INSERT INTO things (number) VALUES (?)", .integer(number)) }
        #expect(database.preparedSQL.count == before + 1)
        #expect(try database.all("SELECT number FROM things", as: { $0.integer(0) }) == Array(0..<10))
    }

    /// A literal has only one prepared statement, so running it inside itself would reset the outer run.
    @Test func runningAStatementInsideItselfTraps() async {
        await #expect(processExitsWith: .failure) {
            // The test expects a failed exit. If a call throws an error instead of trapping, this process exits
            // successfully and the test fails. The database is in memory, so no file is left behind.
            guard let database = try? Database(path: ":memory:", .writing) else { return }
            func run(_ body: () throws(DatabaseError) -> Void) throws(DatabaseError) {
                try database.each("SELECT 1") { _ throws(DatabaseError) in try body() }
            }
            try? run { () throws(DatabaseError) in try run { () throws(DatabaseError) in } }
        }
    }

    private static let composed = (0..<3).map { SQL("SELECT \($0)") }

    @Test func distinguishesComposedStatements() throws {
        let database = try database()
        for _ in 0..<2 {
            #expect(try Self.composed.map { try database.first($0, as: { $0.integer(0) }) } == [0, 1, 2])
        }
        #expect(Self.composed.map(\.text) == ["SELECT 0", "SELECT 1", "SELECT 2"])
    }
}
