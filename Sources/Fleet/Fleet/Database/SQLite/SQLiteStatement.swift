import CSQLite

/// A prepared statement. It keeps its connection open.
final class SQLiteStatement: DatabaseStatement {
    private let connection: SQLiteConnection
    private let handle: OpaquePointer
    let sql: String

    init(_ sql: String, on connection: SQLiteConnection) throws(DatabaseError) {
        var handle: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        try connection.check(sqlite3_prepare_v3(connection.handle, sql, -1, flags, &handle, nil), doing: sql)
        guard let handle else { preconditionFailure("the SQL text contains no statement") }
        self.connection = connection
        self.handle = handle
        self.sql = sql
    }

    deinit { sqlite3_finalize(handle) }

    func run(_ values: [SQLValue], _ body: (Row) throws(DatabaseError) -> Void) throws(DatabaseError) {
        precondition(sqlite3_stmt_busy(handle) == 0, "a statement was started while it was running: \(sql)")
        // The result is ignored: it repeats the error of the last step, which has been thrown already.
        defer { sqlite3_reset(handle) }
        try bind(values)
        while true {
            let result = sqlite3_step(handle)
            if result == SQLITE_DONE { return }
            guard result == SQLITE_ROW else { throw connection.error(result, doing: sql) }
            try body(Row(columns: self))
        }
    }

    func change(_ values: [SQLValue], _ body: ((Row) -> Void)?) throws(DatabaseError) {
        try run(values) { row throws(DatabaseError) in body?(row) }
    }

    func prefetch(_ values: [SQLValue]) {}

    // MARK: Columns of the current row

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    /// sqlite3_column_blob returns a text's bytes without a terminator. They are valid until the next step.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        // Called in this order: "the safest policy is to invoke sqlite3_column_blob() followed by
        // sqlite3_column_bytes()".
        let start = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
    }

    // MARK: Values

    private func bind(_ values: [SQLValue]) throws(DatabaseError) {
        precondition(
            values.count == Int(sqlite3_bind_parameter_count(handle)),
            "number of values differs from number of parameters: \(sql)")
        var index: Int32 = 0
        for value in values {
            index += 1
            try connection.check(bind(value, at: index), doing: sql)
        }
    }

    private func bind(_ value: SQLValue, at index: Int32) -> Int32 {
        switch value {
        case .null: return sqlite3_bind_null(handle, index)
        case .integer(let number): return sqlite3_bind_int64(handle, index, number)
        case .string(var text):
            return text.withUTF8 { bindText(UnsafeRawBufferPointer($0), at: index) }
        case .utf8(let bytes):
            return bytes.withUnsafeBytes { bindText($0, at: index) }
        case .blob(let bytes):
            return bytes.withUnsafeBytes { buffer in
                // For an empty array, `baseAddress` is nil, and sqlite3_bind_blob would bind NULL: "If the third
                // parameter is a NULL pointer then sqlite3_bind_null() is invoked".
                buffer.isEmpty
                    ? sqlite3_bind_zeroblob(handle, index, 0)
                    : csqlite_bind_blob(handle, index, buffer.baseAddress, Int32(buffer.count))
            }
        }
    }

    /// Binds text with its length, because text may contain U+0000, which ends a C string.
    private func bindText(_ text: UnsafeRawBufferPointer, at index: Int32) -> Int32 {
        guard let start = text.baseAddress else { return csqlite_bind_text(handle, index, "", 0) }
        return csqlite_bind_text(handle, index, start.assumingMemoryBound(to: CChar.self), Int32(text.count))
    }
}
