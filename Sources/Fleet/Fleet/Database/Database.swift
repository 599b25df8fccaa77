/// A connection to the store's database, with its prepared statements. Only one thread may use it.
///
/// Callers pass SQL as literals. The first call with a literal prepares the statement; later calls find the prepared
/// statement by the literal's address, in about ten nanoseconds.
package final class Database {
    let connection: any DatabaseConnection
    /// Where the store is, for error messages.
    package let address: StoreAddress
    private var statements: [UInt: any DatabaseStatement] = [:]
    private var isInTransaction = false
    /// The number of rows that statements have returned, but for those of ``change(_:_:returning:)``.
    private(set) var readRows: Int64 = 0

    init(_ connection: any DatabaseConnection, _ address: StoreAddress) {
        self.connection = connection
        self.address = address
    }

    // MARK: Statements

    /// Runs a statement and discards its rows. In a transaction, a server runs it together with later statements, so its
    /// error may be thrown by one of them, at the latest by the commit.
    /// - Parameter body: called for each row that the statement returns, at the latest by the commit.
    func change(_ sql: SQL, _ values: SQLValue..., returning body: ((Row) -> Void)? = nil) throws(DatabaseError) {
        try statement(sql).change(values, body)
    }

    /// The same with the values in an array.
    func change(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) { try statement(sql).change(values, nil) }

    /// Runs a statement, discards its rows, and waits for its result.
    /// - Returns: the number of rows that it inserted, updated or deleted.
    func changeCountingRows(_ sql: SQL, _ values: SQLValue...) throws(DatabaseError) -> Int {
        try changeCountingRows(sql, values)
    }

    /// The same with the values in an array.
    func changeCountingRows(_ sql: SQL, _ values: [SQLValue]) throws(DatabaseError) -> Int {
        try statement(sql).run(values) { _ throws(DatabaseError) in }
        return connection.changedRows
    }

    /// Runs a statement to its end, but converts only the first row.
    /// - Returns: the row as `read` converts it; nil if there is no row.
    func first<Value>(
        _ sql: SQL, _ values: SQLValue..., as read: (Row) throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> Value? {
        var value: Value?
        try statement(sql).run(values) { row throws(DatabaseError) in
            readRows += 1
            if value == nil { value = try read(row) }
        }
        return value
    }

    /// Runs a statement to its end, but converts only the first row.
    /// - Returns: the row as `read` converts it; nil if it cannot, or if there is no row.
    func first<Value>(
        _ sql: SQL, _ values: SQLValue..., as read: (Row) throws(DatabaseError) -> Value?
    ) throws(DatabaseError) -> Value? {
        var (value, isFirst) = (Value?.none, true)
        try statement(sql).run(values) { row throws(DatabaseError) in
            readRows += 1
            if isFirst { value = try read(row) }
            isFirst = false
        }
        return value
    }

    /// Runs a statement and converts each row with `read`.
    func all<Value>(
        _ sql: SQL, _ values: SQLValue..., as read: (Row) throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> [Value] {
        var result: [Value] = []
        try statement(sql).run(values) { row throws(DatabaseError) in
            readRows += 1
            result.append(try read(row))
        }
        return result
    }

    /// Runs a statement and calls `body` for each row. `body` must not run the same statement.
    func each(_ sql: SQL, _ values: SQLValue..., body: (Row) throws(DatabaseError) -> Void) throws(DatabaseError) {
        try statement(sql).run(values) { row throws(DatabaseError) in
            readRows += 1
            try body(row)
        }
    }

    /// Says that one of the methods above is about to read with the same arguments. In a transaction, a server runs the
    /// statement together with one before it. A change of the same table in between makes this useless.
    func prefetch(_ sql: SQL, _ values: SQLValue...) throws(DatabaseError) {
        if canPrefetch { try statement(sql).prefetch(values) }
    }

    /// Whether ``prefetch(_:_:)`` has an effect: each statement that is waited for is a round trip to a server.
    var canPrefetch: Bool { connection.dialect == .postgres }

    private func statement(_ sql: SQL) throws(DatabaseError) -> any DatabaseStatement {
        if let statement = statements[sql.address] { return statement }
        let statement = try connection.prepare(sql.text)
        statements[sql.address] = statement
        return statement
    }

    /// The connection, if the database is on a PostgreSQL server.
    var server: PostgresConnection? { connection as? PostgresConnection }

    /// The texts of all cached statements. Only tests use it.
    var preparedSQL: [String] { statements.values.map(\.sql) }

    /// Runs one statement without parameters. The statement is not cached.
    package func run(_ sql: String) throws(DatabaseError) { try connection.execute(sql) }

    /// The number of rows changed since the connection was opened, including changes that were rolled back.
    var totalChangedRows: Int64 { connection.totalChangedRows }

    /// This moment, for ``hasChanged(since:)``.
    var changeMark: Int64 { connection.changeMark }

    /// Whether statements since the moment have changed rows. Waits only if that is not known yet.
    func hasChanged(since mark: Int64) throws(DatabaseError) -> Bool { try connection.hasChanged(since: mark) }

    /// How often the connection has waited for the server's response to statements. Nil for a file.
    package var roundTrips: Int? { (connection as? PostgresConnection)?.roundTrips }

    // MARK: Transactions

    /// Runs `body` in a transaction and commits its changes. If `body` or the commit fails, rolls the changes back and
    /// rethrows the error. Transactions must not be nested.
    func transaction<Result>(
        _ mode: TransactionMode = .writing, _ body: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        precondition(!isInTransaction, "a transaction must not begin inside another transaction")
        try connection.begin(mode)
        isInTransaction = true
        defer { isInTransaction = false }
        do throws(DatabaseError) {
            let result = try body()
            try connection.commit()
            return result
        } catch {
            connection.rollBack()
            throw error
        }
    }
}
