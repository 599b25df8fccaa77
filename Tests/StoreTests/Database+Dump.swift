import CSQLite

@testable import Store

extension Database {
    /// Runs any statement and returns its rows. Each row is one string: its columns, separated by `|`; `-` for NULL.
    func dump(_ sql: String) throws -> [String] {
        var handle: OpaquePointer?
        try connection.check(sqlite3_prepare_v2(connection.handle, sql, -1, &handle, nil), doing: sql)
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
