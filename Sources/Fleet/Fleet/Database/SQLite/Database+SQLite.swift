extension Database {
    /// Opens an existing file without checks and migrations.
    convenience init(path: String, _ access: SQLiteConnection.Access) throws(DatabaseError) {
        self.init(try SQLiteConnection(path: path, access), .file(path))
    }

    /// The connection to the store's file; nil if the store is on a PostgreSQL server.
    var sqlite: SQLiteConnection? { connection as? SQLiteConnection }
}

extension SQLiteConnection {
    /// Opens a store that another connection of this process has open for writing, only to copy its write-ahead log.
    convenience init(copyingLogOf path: String) throws(StoreError) {
        do throws(DatabaseError) {
            try self.init(path: path, .writing)
            // Before the log is deleted, its pages must be on the disk, whatever `store.durability` is.
            try execute("PRAGMA synchronous = FULL")
            // A connection knows of the log only once it has read the file.
            try execute("SELECT COUNT(*) FROM schema_migrations")
        } catch {
            throw StoreError(error, .file(path))
        }
    }
}
