/// A connection to a database, as ``Database`` uses it. There is one implementation per database driver.
protocol DatabaseConnection: AnyObject {
    var dialect: SQLDialect { get }

    func prepare(_ sql: String) throws(DatabaseError) -> any DatabaseStatement

    /// Runs a statement without parameters, once.
    func execute(_ sql: String) throws(DatabaseError)

    /// The number of rows changed by the last INSERT, UPDATE or DELETE.
    var changedRows: Int { get }

    /// The number of rows changed since the connection was opened, including changes that were rolled back.
    var totalChangedRows: Int64 { get }

    /// This moment, for ``hasChanged(since:)``.
    var changeMark: Int64 { get }

    /// Whether statements since the moment have changed rows.
    func hasChanged(since mark: Int64) throws(DatabaseError) -> Bool

    func begin(_ mode: TransactionMode) throws(DatabaseError)

    /// Commits the open transaction. If it throws, the transaction's changes are not stored, unless the connection was told
    /// not to wait for a server that is away (``StoreWaitObserver``); it writes nothing more then.
    func commit() throws(DatabaseError)

    /// Rolls back the open transaction, if there is one. Ignores errors.
    func rollBack()
}

/// The columns of a row. Column numbers start at 0.
protocol RowColumns: AnyObject {
    /// The statement's text, for error messages.
    var sql: String { get }

    func isNull(_ column: Int32) -> Bool
    func integer(_ column: Int32) -> Int64
    /// The bytes of a text or blob. Valid as long as the row.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer
}

/// A prepared statement, and the columns of its current row, which only the closures below read.
protocol DatabaseStatement: RowColumns {
    /// Runs the statement to its end and calls `body` for each row. If `body` throws an error, stops and rethrows it.
    func run(_ values: [SQLValue], _ body: (Row) throws(DatabaseError) -> Void) throws(DatabaseError)

    /// Runs the statement and calls `body` for each row. In a transaction, the database may do both later: before the next
    /// statement that is not run with this method, or at the commit, which then throws the error.
    func change(_ values: [SQLValue], _ body: ((Row) -> Void)?) throws(DatabaseError)

    /// Says that the statement, a SELECT, is about to be run with these values. A server then runs it together with a
    /// statement before it.
    func prefetch(_ values: [SQLValue])
}
