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
        return database
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
}
