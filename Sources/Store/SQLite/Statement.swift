import CSQLite

/// A value on its way into a statement.
enum SQLValue {
    case null
    case integer(Int64)
    case string(String)
    /// Text that is at hand as UTF-8: JSON, mostly.
    case utf8([UInt8])
    case blob([UInt8])

    static func integer(_ value: Int) -> SQLValue { .integer(Int64(value)) }
    static func string(_ value: String?) -> SQLValue { value.map { .string($0) } ?? .null }
    static func utf8(_ value: [UInt8]?) -> SQLValue { value.map { .utf8($0) } ?? .null }
}

/// A prepared statement, made once and run often. It keeps its database open.
final class Statement {
    private let database: Database
    private let handle: OpaquePointer
    let sql: String

    init(_ sql: String, on database: Database) throws(DatabaseError) {
        var handle: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        try database.check(sqlite3_prepare_v3(database.handle, sql, -1, flags, &handle, nil), doing: sql)
        guard let handle else { preconditionFailure("blank SQL") }
        self.database = database
        self.handle = handle
        self.sql = sql
    }

    deinit { sqlite3_finalize(handle) }

    /// The one number that a statement without parameters answers; 0 when it answers nothing.
    static func value(_ sql: String, on database: Database) throws(DatabaseError) -> Int64 {
        try Statement(sql, on: database).first { row throws(DatabaseError) in row.integer(0) } ?? 0
    }

    /// The greatest id in a table; nil when it is empty.
    static func lastID(of table: StaticString, on database: Database) throws(DatabaseError) -> String? {
        // An aggregate answers a row even then, which holds NULL.
        try Statement("SELECT MAX(id) FROM \(table)", on: database)
            .first { row throws(DatabaseError) in row.optionalString(0) }.flatMap { $0 }
    }

    /// Runs it to its end, whatever rows it has.
    func run(_ values: SQLValue...) throws(DatabaseError) {
        try rows(values) { _ throws(DatabaseError) in }
    }

    /// Runs it and answers how many rows it changed.
    func change(_ values: SQLValue...) throws(DatabaseError) -> Int {
        try rows(values) { _ throws(DatabaseError) in }
        return Int(sqlite3_changes(database.handle))
    }

    /// What `body` makes of the first row; nil when there is none.
    func first<Result>(
        _ values: SQLValue..., body: (Row) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result? {
        var result: Result?
        try rows(values) { row throws(DatabaseError) in
            if result == nil { result = try body(row) }
        }
        return result
    }

    /// What `body` makes of each row.
    func all<Result>(
        _ values: SQLValue..., body: (Row) throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> [Result] {
        var results: [Result] = []
        try rows(values) { row throws(DatabaseError) in results.append(try body(row)) }
        return results
    }

    /// Hands every row to `body`, which must not run this statement again.
    func each(_ values: SQLValue..., body: (Row) throws(DatabaseError) -> Void) throws(DatabaseError) {
        try rows(values, body)
    }

    private func rows(_ values: [SQLValue], _ body: (Row) throws(DatabaseError) -> Void) throws(DatabaseError) {
        // Its result repeats the error of the last step, which has been thrown already.
        defer { sqlite3_reset(handle) }
        try bind(values)
        while true {
            let result = sqlite3_step(handle)
            if result == SQLITE_DONE { return }
            guard result == SQLITE_ROW else { throw database.error(result, doing: sql) }
            try body(Row(statement: handle, sql: sql))
        }
    }

    private func bind(_ values: [SQLValue]) throws(DatabaseError) {
        precondition(values.count == Int(sqlite3_bind_parameter_count(handle)), "every parameter has a value: \(sql)")
        var index: Int32 = 0
        for value in values {
            index += 1
            try database.check(bind(value, at: index), doing: sql)
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
                // "If the third parameter is a NULL pointer then sqlite3_bind_null() is invoked": an empty array has none.
                buffer.isEmpty
                    ? sqlite3_bind_zeroblob(handle, index, 0)
                    : csqlite_bind_blob(handle, index, buffer.baseAddress, Int32(buffer.count))
            }
        }
    }

    /// With its length: a text may hold a NUL.
    private func bindText(_ text: UnsafeRawBufferPointer, at index: Int32) -> Int32 {
        guard let start = text.baseAddress else { return csqlite_bind_text(handle, index, "", 0) }
        return csqlite_bind_text(handle, index, start.assumingMemoryBound(to: CChar.self), Int32(text.count))
    }
}

/// A result row, for as long as the statement stands on it.
struct Row {
    fileprivate let statement: OpaquePointer
    let sql: String

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

    func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    func string(_ column: Int32) -> String { String(decoding: buffer(column), as: UTF8.self) }

    func optionalString(_ column: Int32) -> String? { isNull(column) ? nil : string(column) }

    func bytes(_ column: Int32) -> [UInt8] { Array(buffer(column)) }

    func optionalBytes(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : bytes(column) }

    /// A text or blob as it is stored; sqlite3_column_blob gives a text's bytes without a terminator.
    private func buffer(_ column: Int32) -> UnsafeRawBufferPointer {
        // In this order: "the safest policy is to invoke sqlite3_column_blob() followed by sqlite3_column_bytes()".
        let start = sqlite3_column_blob(statement, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    }
}
