/// The SQL that differs between SQLite and PostgreSQL. All other statements of Store run on both: they use `?` for
/// parameters, and no functions, types and clauses that only one of the two has, except `json_each(?)`.
enum SQLDialect {
    case sqlite, postgres

    /// Selects the names of all tables.
    var tableNames: SQL {
        switch self {
        case .sqlite: "SELECT name FROM sqlite_master WHERE type = 'table'"
        case .postgres: "SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = current_schema()"
        }
    }

    /// Begins a transaction.
    func begin(_ mode: TransactionMode) -> String {
        switch (self, mode) {
        // IMMEDIATE locks the database at once. Without it, the first change would lock it, and could fail with BUSY.
        case (.sqlite, .writing): "BEGIN IMMEDIATE"
        case (.sqlite, .reading): "BEGIN"
        // Whatever the server's default is: a statement must see what was committed while it waited for a lock.
        case (.postgres, .writing): "BEGIN ISOLATION LEVEL READ COMMITTED"
        case (.postgres, .reading): "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        }
    }

    /// A statement with parameters. `SELECT value FROM json_each(?)` yields the elements of a JSON array of strings, so that
    /// one statement handles many ids.
    func statement(_ sql: String) -> String {
        switch self {
        case .sqlite: sql
        case .postgres:
            sql.replacing("json_each(?)", with: "json_array_elements_text(CAST(? AS JSON)) AS element (value)")
        }
    }

    /// A statement of ``Schema``, whose types are TEXT, BIGINT and BLOB.
    ///
    /// `ROW_NUMBER PRIMARY KEY` is a key of SQLite's own row numbers, which takes no index. A `CLUSTERED` table is kept in its
    /// key's index; PostgreSQL has no such tables. `BYTES(column)` is a text as a blob.
    ///
    /// Store compares ids, owners and cursors by bytes (`id < '~'`), as SQLite does by default. PostgreSQL does so in
    /// columns with the collation `C`; a database's own collation depends on how it was created.
    func schema(_ statement: String) -> String {
        switch self {
        case .sqlite:
            statement.replacing(" ROW_NUMBER PRIMARY", with: " INTEGER PRIMARY").replacing(") CLUSTERED", with: ") WITHOUT ROWID")
                .replacing(/BYTES\(([a-z_.]+)\)/) { "CAST(\($0.1) AS BLOB)" }
        case .postgres:
            statement.replacing(" TEXT", with: #" TEXT COLLATE "C""#).replacing(" BLOB", with: " BYTEA")
                .replacing(" ROW_NUMBER PRIMARY", with: " BIGINT PRIMARY").replacing(") CLUSTERED", with: ")")
                .replacing(/BYTES\(([a-z_.]+)\)/) { "CONVERT_TO(\($0.1), 'UTF8')" }
        }
    }
}

/// Whether a transaction writes.
enum TransactionMode {
    case writing
    /// Reads one consistent view of all tables.
    case reading
}
