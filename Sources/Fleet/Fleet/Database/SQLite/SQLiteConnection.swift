import CSQLite
import Glibc

/// A connection to an SQLite file. Only one thread may use it.
final class SQLiteConnection: DatabaseConnection {
    enum Access { case writing, reading }

    let dialect = SQLDialect.sqlite
    let handle: OpaquePointer
    /// Milliseconds to wait until another connection releases its lock.
    var busyTimeout: Int32 = 1_000 {
        didSet { sqlite3_busy_timeout(handle, busyTimeout) }
    }
    /// The pages in the write-ahead log after this connection's last commit, since it reports them
    /// (``setUpWriting(_:)``).
    private(set) var logPages = 0
    /// Called about every ten milliseconds while a statement runs (``reportProgress(to:)``).
    private var onProgress: () -> Void = {}
    /// The locks that keep other gateways from writing; nil for a connection without them. They are released only after the
    /// connection is closed.
    let file: StoreFile?

    /// Opens an existing file.
    init(path: String, _ access: Access, file: StoreFile? = nil) throws(DatabaseError) {
        var handle: OpaquePointer?
        // NOMUTEX: only one thread uses the connection. EXRESCODE: all results are extended codes.
        let mode = access == .reading ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        let result = sqlite3_open_v2(Self.name(of: path), &handle, mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard let handle else {
            throw DatabaseError(sqlite: SQLITE_NOMEM, message: "out of memory", doing: "opening")
        }
        // "Whether or not an error occurs when it is opened, resources … should be released": deinit releases them,
        // also if the check below throws an error.
        self.handle = handle
        self.file = file
        try check(result, doing: "opening")
        sqlite3_busy_timeout(handle, busyTimeout)
        try execute("PRAGMA trusted_schema = OFF")
        try sortInMemory()
        try execute("PRAGMA cache_size = \(access == .reading ? -4_000 : -16_000)")  // negative: KiB
    }

    /// The name of a file as SQLite takes it. Debian's SQLite reads a name that begins with `file:` as a URI (SQLITE_USE_URI).
    static func name(of path: String) -> String { path.hasPrefix("file:") ? "./" + path : path }

    deinit {
        // sqlite3_close_v2 closes the connection when its last statement is finalized. While there is a statement,
        // sqlite3_close would fail and leak the connection.
        sqlite3_close_v2(handle)
    }

    /// Turns on the write-ahead log. This changes the file, so the caller checks first that it is a Fleetwire store.
    func setUpWriting(_ durability: Durability) throws(DatabaseError) {
        // WAL mode is stored in the file. On a file system without shared memory, the pragma returns another mode
        // instead of an error.
        var mode = ""
        try prepare("PRAGMA journal_mode = WAL").run([]) { row throws(DatabaseError) in mode = row.string(0) }
        guard mode == "wal" else {
            throw DatabaseError(
                sqlite: SQLITE_CANTOPEN, message: "this file system does not support a write-ahead log", doing: "opening")
        }
        // FULL syncs the log after each commit, NORMAL only at checkpoints: "In WAL mode when synchronous is NORMAL,
        // the WAL file is synchronized before each checkpoint".
        try execute("PRAGMA synchronous = \(durability == .full ? "FULL" : "NORMAL")")
        // Replaces SQLite's hook, which would copy the log into the database file within a commit: ``Checkpointer``
        // does it.
        sqlite3_wal_hook(
            handle,
            { connection, _, _, pages in
                guard let connection else { return SQLITE_OK }
                Unmanaged<SQLiteConnection>.fromOpaque(connection).takeUnretainedValue().logPages = Int(pages)
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
        // Overwrites deleted content with zeros, so that erased data cannot be read from free pages of the file.
        try execute("PRAGMA secure_delete = ON")
        // 64 MiB. A long read can make the log larger; SQLite truncates the log to this size afterwards.
        try execute("PRAGMA journal_size_limit = 67108864")
    }

    /// Lets SQLite sort in memory: what requests and lists sort is little.
    func sortInMemory() throws(DatabaseError) { try execute("PRAGMA temp_store = MEMORY") }

    /// Lets SQLite sort in temporary files: an index of a large table does not fit in memory. It goes on to sort in memory
    /// where none of the directories that SQLite tries is writable, such as in a read-only container.
    /// See https://www.sqlite.org/tempfiles.html, section 5.
    func sortInFiles() throws(DatabaseError) {
        let names: [String] = ["SQLITE_TMPDIR", "TMPDIR"]
        let variables = names.compactMap { name in getenv(name).map { String(cString: $0) } }
        let directories = variables + ["/var/tmp", "/usr/tmp", "/tmp", "."]
        if directories.contains(where: { access($0, W_OK | X_OK) == 0 }) { try execute("PRAGMA temp_store = FILE") }
    }

    /// Calls `onProgress` about every ten milliseconds while a statement runs, so that a watchdog does not take a long
    /// statement for a thread that is stuck.
    func reportProgress(to onProgress: @escaping () -> Void) {
        self.onProgress = onProgress
        sqlite3_progress_handler(
            handle, 500_000,
            { connection in
                guard let connection else { return 0 }
                Unmanaged<SQLiteConnection>.fromOpaque(connection).takeUnretainedValue().onProgress()
                return 0  // anything else would interrupt the statement
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    func prepare(_ sql: String) throws(DatabaseError) -> any DatabaseStatement { try SQLiteStatement(sql, on: self) }

    func execute(_ sql: String) throws(DatabaseError) { try check(sqlite3_exec(handle, sql, nil, nil, nil), doing: sql) }

    var changedRows: Int { Int(sqlite3_changes(handle)) }

    var totalChangedRows: Int64 { sqlite3_total_changes64(handle) }

    var changeMark: Int64 { totalChangedRows }

    func hasChanged(since mark: Int64) -> Bool { totalChangedRows != mark }

    func begin(_ mode: TransactionMode) throws(DatabaseError) {
        // If an earlier rollback failed, its transaction is still open, and BEGIN would fail.
        rollBack()
        try execute(dialect.begin(mode))
    }

    func commit() throws(DatabaseError) { try execute("COMMIT") }

    /// After FULL, IOERR, NOMEM and BUSY, SQLite may already have rolled the transaction back: "If the transaction has
    /// already been rolled back automatically by the error response, then the ROLLBACK command will fail with an
    /// error".
    func rollBack() {
        if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
    }

    /// Moves the write-ahead log into the database file and truncates the log, so that the database file alone contains
    /// the whole store.
    /// - Parameter waiting: if true, waits up to a second for readers. If false, moves as much as possible, and throws
    ///   an error with `isBusy` if a reader prevents the rest.
    func checkpoint(waiting: Bool = true) throws(DatabaseError) {
        sqlite3_busy_timeout(handle, waiting ? 1_000 : 0)
        defer { sqlite3_busy_timeout(handle, busyTimeout) }
        try check(
            sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil), doing: "checkpointing")
    }

    /// Copies the pages of the write-ahead log into the database file, as far as possible without waiting: not those
    /// that are newer than what a reader reads. Commits of another connection continue meanwhile. Once all pages are
    /// copied, and no reader reads in the log, the next commit begins it anew.
    /// - Returns: the pages in the log, and how many of them are copied.
    /// - Throws: an error with `isBusy` if another connection copies the log.
    func copyLog() throws(DatabaseError) -> (pages: Int, copied: Int) {
        var pages: Int32 = 0
        var copied: Int32 = 0
        try check(
            sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied), doing: "copying the log")
        return (Int(pages), Int(copied))
    }

    /// Lets the end of the connection neither copy the write-ahead log nor delete it: the file of that name belongs to
    /// another process.
    func leaveLog() { csqlite_leave_log(handle) }

    /// Throws an error unless the result is `SQLITE_OK`.
    func check(_ result: Int32, doing: String) throws(DatabaseError) {
        if result != SQLITE_OK { throw error(result, doing: doing) }
    }

    func error(_ result: Int32, doing: String) -> DatabaseError {
        DatabaseError(sqlite: result, message: String(cString: sqlite3_errmsg(handle)), doing: doing)
    }
}
