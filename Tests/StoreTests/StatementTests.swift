import Testing

@testable import Store

@Suite struct StatementTests {
    private func database() throws -> Database {
        let room = TemporaryStore()
        let database = try Database.open(path: room.path, durability: .normal, now: noon)
        try database.run("CREATE TABLE things (name TEXT, bytes BLOB, number BIGINT)")
        return database
    }

    static let hostile = [
        "", "'", "''", "\"", "'; DROP TABLE things; --", "?", ":name", "%_\\", "\u{0}", "before\u{0}after", "\u{FEFF}", "Zoë 🚚",
        "\u{212A}", "line\nline\r\n", String(repeating: "x", count: 100_000),
    ]

    // Not as arguments: the runner would print them.
    @Test func givesEveryTextBackAsItWas() throws {
        for text in Self.hostile { try check(text) }
    }

    private func check(_ text: String) throws {
        let database = try database()
        try Statement("INSERT INTO things (name) VALUES (?)", on: database).run(.string(text))
        let select = try Statement(
            "SELECT name, typeof(name), length(CAST(name AS BLOB)) FROM things WHERE name = ?", on: database)
        let found = try select.first(.string(text)) { row throws(DatabaseError) in
            (row.string(0), row.string(1), row.integer(2), row.bytes(0))
        }
        #expect(found?.0.utf8.elementsEqual(text.utf8) == true)
        #expect(found?.1 == "text")
        #expect(found?.2 == Int64(text.utf8.count))
        #expect(found?.3 == Array(text.utf8))
    }

    @Test func tellsNothingFromEmpty() throws {
        let database = try database()
        let insert = try Statement("INSERT INTO things (name, bytes, number) VALUES (?, ?, ?)", on: database)
        try insert.run(.string(String?.none), .null, .null)
        try insert.run(.string(""), .blob([]), .integer(0))
        try insert.run(.utf8([UInt8]()), .blob([0, 255]), .integer(Int64.min))
        let rows = try Statement("SELECT name, bytes, number FROM things", on: database).all { row throws(DatabaseError) in
            (row.optionalString(0), row.optionalBytes(1), row.optionalInteger(2))
        }
        #expect(rows.map(\.0) == [nil, "", ""])
        #expect(rows.map(\.1) == [nil, [], [0, 255]])
        #expect(rows.map(\.2) == [nil, 0, Int64.min])
        #expect(try database.dump("SELECT typeof(name), typeof(bytes) FROM things") == ["null|null", "text|blob", "text|blob"])
    }

    @Test func saysWhatItWasDoing() throws {
        let database = try database()
        try database.run("CREATE UNIQUE INDEX once ON things (name)")
        let sql = "INSERT INTO things (name) VALUES (?)"
        let insert = try Statement(sql, on: database)
        try insert.run(.string("a secret"))
        let error = #expect(throws: DatabaseError.self) { try insert.run(.string("a secret")) }
        #expect(error?.kind == .other && error?.code == "SQLite error 2067")
        #expect(error?.description == "SQLite error 2067 (UNIQUE constraint failed: things.name) while \(sql)")
        // It can be run again after an error.
        try insert.run(.string("another"))
        #expect(throws: DatabaseError.self) { _ = try Statement("SELECT nothing FROM things", on: database) }
    }

    @Test func stopsAtTheFirstErrorOfItsReader() throws {
        let database = try database()
        for number in 0..<3 { try database.run("INSERT INTO things (number) VALUES (\(number))") }
        let select = try Statement("SELECT number FROM things", on: database)
        var seen = 0
        #expect(throws: DatabaseError.self) {
            try select.each { row throws(DatabaseError) in
                seen += 1
                throw .misread("a number", doing: row.sql)
            }
        }
        #expect(seen == 1)
        #expect(try select.all { row throws(DatabaseError) in row.integer(0) } == [0, 1, 2])
    }
}
