import CSQLite

/// How much of the last moments a power cut may take. A crash of the process alone takes nothing either way.
package enum Durability: String, CaseIterable, Sendable {
    /// Nothing: each commit waits for the disk.
    case full
    /// The commits since the last checkpoint, all of them or none; the file stays whole.
    case normal
}

/// A connection to an SQLite file. It belongs to one thread.
package final class Database {
    enum Access { case writing, reading }

    /// Milliseconds for which it waits for a lock.
    private static let busyTimeout: Int32 = 1000

    let handle: OpaquePointer
    package let path: String
    private var isInTransaction = false
    /// Let go after the connection: nobody else may write before that.
    private let file: StoreFile?

    /// Opens the file, which must be there.
    init(path: String, _ access: Access, file: StoreFile? = nil) throws(DatabaseError) {
        var handle: OpaquePointer?
        // NOMUTEX: one thread has it. EXRESCODE: every result is an extended one.
        let mode = access == .reading ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        let result = sqlite3_open_v2(path, &handle, mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard let handle else {
            throw DatabaseError(sqlite: SQLITE_NOMEM, message: "out of memory", doing: "opening")
        }
        // "Whether or not an error occurs when it is opened, resources … should be released": deinit does.
        self.handle = handle
        self.path = path
        self.file = file
        try check(result, doing: "opening")
        sqlite3_busy_timeout(handle, Self.busyTimeout)
        try run("PRAGMA trusted_schema = OFF")
        try run("PRAGMA temp_store = MEMORY")
        try run("PRAGMA cache_size = \(access == .reading ? -4_000 : -16_000)")  // negative: KiB
    }

    deinit {
        // v2: waits for statements that are still alive, where sqlite3_close would refuse and leak.
        sqlite3_close_v2(handle)
    }

    /// Turns the write-ahead log on, which changes the file: first see whose it is.
    func setUpWriting(_ durability: Durability) throws(DatabaseError) {
        // WAL stays with the file; a file system without shared memory answers another mode instead of an error.
        let mode = try Statement("PRAGMA journal_mode = WAL", on: self).first { row throws(DatabaseError) in row.string(0) }
        guard mode == "wal" else {
            throw DatabaseError(
                sqlite: SQLITE_CANTOPEN, message: "this file system cannot hold a write-ahead log", doing: "opening")
        }
        // "In WAL mode when synchronous is NORMAL, the WAL file is synchronized before each checkpoint" only.
        try run("PRAGMA synchronous = \(durability == .full ? "FULL" : "NORMAL")")
        try run("PRAGMA wal_autocheckpoint = 4000")  // pages: at 16 MiB the log goes into the file
        // What is erased must not be read in free pages by whoever gets hold of the file: they are overwritten with zeros.
        try run("PRAGMA secure_delete = ON")
        try run("PRAGMA journal_size_limit = 67108864")  // after a long read the log may be large: give the disk back
    }

    /// Runs a statement without parameters.
    package func run(_ sql: String) throws(DatabaseError) { try check(sqlite3_exec(handle, sql, nil, nil, nil), doing: sql) }

    /// Rows written since it was opened, what was rolled back included.
    var changes: Int64 { sqlite3_total_changes64(handle) }

    /// All of `body`, or nothing of it.
    /// - Parameter sql: `BEGIN` for a steady view; `BEGIN IMMEDIATE` takes the write lock at once rather than at the first change.
    func transaction<Result>(
        _ sql: StaticString = "BEGIN IMMEDIATE", _ body: () throws(DatabaseError) -> Result
    ) throws(DatabaseError) -> Result {
        precondition(!isInTransaction, "a transaction within a transaction")
        rollBack()  // what an earlier rollback could not: otherwise nothing could ever begin again
        try run(sql.description)
        isInTransaction = true
        defer { isInTransaction = false }
        do throws(DatabaseError) {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            rollBack()
            throw error
        }
    }

    /// "If the transaction has already been rolled back automatically by the error response, then the ROLLBACK command
    /// will fail with an error": after FULL, IOERR, NOMEM and BUSY it may have been.
    private func rollBack() {
        if sqlite3_get_autocommit(handle) == 0 { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
    }

    /// Moves the log into the file and cuts it off, so that the file alone is the store.
    /// - Parameter waiting: whether it waits for readers (a second). Otherwise, while somebody reads, it moves what it can and
    ///   throws BUSY.
    func checkpoint(waiting: Bool = true) throws(DatabaseError) {
        if !waiting { sqlite3_busy_timeout(handle, 0) }
        defer { sqlite3_busy_timeout(handle, Self.busyTimeout) }
        try check(
            sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil), doing: "checkpointing")
    }

    func check(_ result: Int32, doing: String) throws(DatabaseError) {
        if result != SQLITE_OK { throw error(result, doing: doing) }
    }

    func error(_ result: Int32, doing: String) -> DatabaseError {
        DatabaseError(sqlite: result, message: String(cString: sqlite3_errmsg(handle)), doing: doing)
    }
}
