extension Database {
    /// Opens the store as the one gateway that writes it, creating and migrating what is there.
    package static func open(path: String, durability: Durability, now: Int64) throws(StoreError) -> Database {
        try open(path: path, durability: durability, now: now, migrations: Migrations())
    }

    static func open(
        path: String, durability: Durability, now: Int64, migrations: Migrations
    ) throws(StoreError) -> Database {
        let file = try StoreFile(path: path)
        let database = try open(path) { () throws(DatabaseError) in try Database(path: path, .writing, file: file) }
        try migrations.checkBeforeWriting(database)
        _ = try open(path) { () throws(DatabaseError) in try database.setUpWriting(durability) }
        try migrations.apply(to: database, now: now)
        return database
    }

    /// Opens the store beside whoever writes it.
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
}
