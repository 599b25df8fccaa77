import CSQLite

@testable import Fleet

extension Database {
    /// The connection to an SQLite file.
    var file: SQLiteConnection {
        guard let sqlite else { preconditionFailure("the test needs an SQLite file") }
        return sqlite
    }

    /// Runs any statement and returns its rows. Each row is one string: its columns, separated by `|`; `-` for NULL.
    func dump(_ sql: String) throws -> [String] {
        if let postgres = connection as? PostgresConnection { return try postgres.query(sql).rows }
        var handle: OpaquePointer?
        try file.check(sqlite3_prepare_v2(file.handle, sql, -1, &handle, nil), doing: sql)
        defer { sqlite3_finalize(handle) }
        var rows: [String] = []
        while sqlite3_step(handle) == SQLITE_ROW {
            let columns = (0..<sqlite3_column_count(handle)).map { column in
                sqlite3_column_text(handle, column).map { String(cString: $0) } ?? "-"
            }
            rows.append(columns.joined(separator: "|"))
        }
        return rows
    }
}

extension Database {
    /// The names of all tables, sorted.
    func tableNames() throws -> [String] { try all(connection.dialect.tableNames, as: { $0.string(0) }).sorted() }

    /// The definitions of a table's indexes, without those of its constraints.
    func indexes(of table: String) throws -> [String] {
        sqlite == nil
            ? try dump(
                "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '\(table)'::regclass AND NOT indisunique "
                    + "ORDER BY 1")
            : try dump("SELECT sql FROM sqlite_master WHERE type = 'index' AND name LIKE '\(table)%' ORDER BY name")
    }

    /// What SQLite's check of the file finds.
    func integrityCheck() throws -> [String] { sqlite == nil ? ["ok"] : try dump("PRAGMA integrity_check") }
}

extension PostgresResult {
    /// A value; that of a blob without the escapes in which the server sends it.
    private func text(_ row: Int32, _ column: Int32) -> String {
        let text = string(row, column)
        guard text.hasPrefix("\\x") else { return text }
        let digits = Array(text.utf8.dropFirst(2))
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<($0 + 2)], as: UTF8.self), radix: 16)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The rows of a statement that was run without parameters.
    var rows: [String] {
        (0..<rowCount).map { row in
            (0..<columnCount).map { isNull(row, $0) ? "-" : text(row, $0) }.joined(separator: "|")
        }
    }
}
