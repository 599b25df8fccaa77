/// Which commits a power failure may lose. A crash of the process loses no commit with either setting.
package enum Durability: String, CaseIterable, Sendable {
    /// None: each commit waits until the disk has stored it.
    case full
    /// The commits since the last checkpoint, at most. The file stays consistent.
    case normal
}

extension Database {
    /// Opens the store for writing; creates and migrates it if necessary. Only one gateway at a time can have a store
    /// open for writing.
    package static func open(path: String, durability: Durability, now: Int64) throws(StoreError) -> Database {
        try open(path: path, durability: durability, now: now, migrations: Migrations())
    }

    static func open(
        path: String, durability: Durability, now: Int64, migrations: Migrations
    ) throws(StoreError) -> Database {
        let file = try StoreFile(path: path)
        let database = try open(path) { () throws(DatabaseError) in try Database(path: path, .writing, file: file) }
        try migrations.checkBeforeWriting(database)
        _ = try open(path) { () throws(DatabaseError) in try database.connection.setUpWriting(durability) }
        try migrations.apply(to: database, now: now)
        // Only programs other than Fleetwire lock the file now. A batch must not wait long for one: it gets 503.
        database.connection.busyTimeout = 50
        return database
    }

    /// Opens a store that another connection of this process has open for writing, only to copy its write-ahead log.
    static func open(copyingLogOf path: String) throws(StoreError) -> Database {
        try open(path) { () throws(DatabaseError) in
            let database = try Database(path: path, .writing)
            // Before the log is deleted, its pages must be on the disk, whatever `store.durability` is.
            try database.run("PRAGMA synchronous = FULL")
            // A connection knows of the log only once it has read the file.
            try database.run("SELECT COUNT(*) FROM schema_migrations")
            return database
        }
    }

    /// Opens the store for reading. A gateway may have it open for writing at the same time.
    package static func open(readingFrom path: String) throws(StoreError) -> Database {
        let database = try open(path) { () throws(DatabaseError) in try Database(path: path, .reading) }
        try Migrations().checkBeforeReading(database)
        return database
    }

    private static func open<Result>(
        _ path: String, _ body: () throws(DatabaseError) -> Result
    ) throws(StoreError) -> Result {
        do { return try body() } catch { throw StoreError(error, path: path) }
    }

    /// Opens an existing file without checks and migrations.
    convenience init(path: String, _ access: SQLiteConnection.Access, file: StoreFile? = nil) throws(DatabaseError) {
        self.init(try SQLiteConnection(path: path, access, file: file), path: path)
    }

    /// Moves the write-ahead log into the database file and truncates the log, so that the database file alone contains
    /// the whole store.
    /// - Parameter waiting: if true, waits up to a second for readers. If false, moves as much as possible, and throws
    ///   an error with `isBusy` if a reader prevents the rest.
    func checkpoint(waiting: Bool = true) throws(DatabaseError) { try connection.checkpoint(waiting: waiting) }

    /// Copies the pages of the write-ahead log into the database file, as far as possible without waiting: not those
    /// that are newer than what a reader reads. Commits of another connection continue meanwhile. Once all pages are
    /// copied, and no reader reads in the log, the next commit begins it anew.
    /// - Returns: the pages in the log, and how many of them are copied.
    /// - Throws: an error with `isBusy` if another connection copies the log.
    func copyLog() throws(DatabaseError) -> (pages: Int, copied: Int) { try connection.copyLog() }

    /// The pages in the write-ahead log after this connection's last commit.
    var logPages: Int { connection.logPages }
}
