/// The SQL that differs between SQLite and PostgreSQL. All other statements of Store run on both.
///
/// A database driver for PostgreSQL would provide these texts. It would also handle these differences:
/// - Placeholders: statements use `?`. The driver numbers them (`$1`, `$2`, …) when it prepares a statement.
/// - Order: ids, owners and cursors are compared by bytes (`id < '~'`). PostgreSQL needs the collation `C` for this.
/// - Text: SQLite stores U+0000 in text; PostgreSQL rejects it.
/// - Locks: in SQLite a writing transaction locks the database. PostgreSQL needs `FOR UPDATE` on rows that are read
///   before they are written.
/// - Errors: the driver maps its codes to ``DatabaseError/Kind``.
///
/// Both databases report the number of changed rows and support `RETURNING`.
enum SQLDialect {
    /// The column type for bytes. PostgreSQL: `BYTEA`.
    static let bytes = "BLOB"

    /// Selects the names of all tables. PostgreSQL: selects them from `pg_tables`.
    static let tableNames: SQL = "SELECT name FROM sqlite_master WHERE type = 'table'"

    /// Begins a transaction. PostgreSQL: `BEGIN` for writing, and `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY` for
    /// reading.
    static func begin(_ mode: TransactionMode) -> String {
        switch mode {
        // IMMEDIATE locks the database at once. Without it, the first change would lock it, and could fail with BUSY.
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
