/// A step from one schema to the next. Steps are only ever added: there is no way back.
struct Migration {
    let version: Int
    let statements: [String]
}

/// Brings a database up to the schema that this program knows, or says why it cannot.
struct Migrations {
    private let all: [Migration]

    init(_ all: [Migration] = Schema.migrations) { self.all = all }

    /// The schema that the last step leads to.
    private var known: Int { all.last?.version ?? 0 }

    /// Refuses a file that this program must not write, without having changed it.
    func checkBeforeWriting(_ database: Database) throws(StoreError) {
        let version = try version(of: database)
        if version > known { throw .newer(path: database.path, schema: version, known: known) }
    }

    /// Refuses a file that this program cannot read as it is.
    func checkBeforeReading(_ database: Database) throws(StoreError) {
        try checkBeforeWriting(database)
        let version = try version(of: database)
        if version < known { throw .older(path: database.path, schema: version, known: known) }
    }

    /// Takes the steps that are missing, each whole or not at all.
    func apply(to database: Database, now: Int64) throws(StoreError) {
        let version = try version(of: database)
        do throws(DatabaseError) {
            for step in all where step.version > version {
                try database.transaction { () throws(DatabaseError) in
                    for sql in step.statements { try database.run(sql) }
                    try Statement("INSERT INTO schema_migrations (version, applied_at) VALUES (?, ?)", on: database)
                        .run(.integer(step.version), .integer(now))
                }
            }
        } catch {
            throw StoreError(error, path: database.path)
        }
    }

    /// The schema of the file; 0 when it is empty.
    private func version(of database: Database) throws(StoreError) -> Int {
        let tables: [String]
        var version = 0
        do throws(DatabaseError) {
            // The one question that PostgreSQL is asked in other words.
            tables = try Statement("SELECT name FROM sqlite_master WHERE type = 'table'", on: database)
                .all { row throws(DatabaseError) in row.string(0) }
            if tables.contains("schema_migrations") {
                version = Int(try Statement.value("SELECT MAX(version) FROM schema_migrations", on: database))
            }
        } catch {
            throw StoreError(error, path: database.path)
        }
        guard tables.isEmpty || tables.contains("schema_migrations") else { throw .foreign(path: database.path) }
        return version
    }
}
