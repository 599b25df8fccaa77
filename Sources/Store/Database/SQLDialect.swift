/// The SQL that differs between SQLite and PostgreSQL. All other statements of Store run on both.
///
/// A second driver provides these texts, plus:
/// - Placeholders: statements use `?`. A PostgreSQL driver numbers them (`$1`, `$2`, …) when it prepares a statement.
/// - Order: ids, owners and cursors are compared by bytes (`id < '~'`). PostgreSQL needs the collation `C`.
/// - Text: SQLite stores U+0000 in text; PostgreSQL rejects it.
/// - Counts: the number of changed rows and `RETURNING` exist in both.
/// - Locks: in SQLite a writing transaction locks the database. PostgreSQL needs `FOR UPDATE` on rows read before a
///   write.
/// - Errors: the driver maps its codes to ``DatabaseError/Kind``.
enum SQLDialect {
    /// The column type for bytes. PostgreSQL: `BYTEA`.
    static let bytes = "BLOB"

    /// Selects the names of all tables. PostgreSQL: from `pg_tables`.
    static let tableNames: SQL = "SELECT name FROM sqlite_master WHERE type = 'table'"

    /// Begins a transaction. PostgreSQL: `BEGIN` and `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`.
    static func begin(_ mode: TransactionMode) -> String {
        switch mode {
        // Takes the write lock at once. Without IMMEDIATE, the first change takes it and can fail with BUSY.
        case .writing: "BEGIN IMMEDIATE"
        case .reading: "BEGIN"
        }
    }
}

/// Whether a transaction writes.
enum TransactionMode {
    case writing
    /// Reads one consistent view of all tables.
    case reading
}
