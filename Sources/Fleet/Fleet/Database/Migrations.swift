/// A step from one schema version to the next. There are no migrations to an older version.
struct Migration {
    /// The schema version after the step.
    let version: Int
    let statements: [String]
    /// What SQL cannot do, after the statements.
    var finish: @Sendable (Database) throws(DatabaseError) -> Void = { _ throws(DatabaseError) in }
}

/// Migrates a database to the schema version of this program.
struct Migrations {
    private let all: [Migration]

    init(_ all: [Migration] = Schema.migrations) { self.all = all }

    /// The schema version of this program.
    private var known: Int { all.last?.version ?? 0 }

    /// Throws an error if this program must not write the store: its schema is newer, or it belongs to another program.
    /// Does not change the store.
    func checkBeforeWriting(_ database: Database) throws(StoreError) {
        let version = try version(of: database)
        if version > known { throw .newer(database.address, schema: version, known: known) }
    }

    /// Whether the store has this program's schema, so that nothing is to be created or migrated. Throws as
    /// ``checkBeforeWriting(_:)``.
    func isCurrent(_ database: Database) throws(StoreError) -> Bool {
        try checkBeforeWriting(database)
        return try version(of: database) == known
    }

    /// Throws an error if this program cannot read the store without migrating it.
    func checkBeforeReading(_ database: Database) throws(StoreError) {
        try checkBeforeWriting(database)
        let version = try version(of: database)
        if version < known { throw .older(database.address, schema: version, known: known) }
    }

    /// Applies the missing migrations, each in a transaction.
    /// - Parameter onMigration: called before, unless the store is new; see ``StoreWaitObserver/onMigration``.
    func apply(
        to database: Database, now: Int64, onMigration: (_ from: Int, _ to: Int) -> Void = { _, _ in }
    ) throws(StoreError) {
        let version = try version(of: database)
        guard version < known else { return }
        do throws(DatabaseError) {
            if version > 0 {
                onMigration(version, known)
                try database.sqlite?.sortInFiles()
            }
            for migration in all where migration.version > version {
                try database.transaction { () throws(DatabaseError) in
                    for sql in migration.statements { try database.run(database.connection.dialect.schema(sql)) }
                    try migration.finish(database)
                    try database.change(
                        "INSERT INTO schema_migrations (version, applied_at) VALUES (?, ?)",
                        .integer(migration.version), .integer(now))
                }
            }
            try database.sqlite?.sortInMemory()
        } catch {
            throw StoreError(error, database.address)
        }
    }

    /// The schema version of the store; 0 if it has no tables.
    private func version(of database: Database) throws(StoreError) -> Int {
        let tables: [String]
        var version = 0
        do throws(DatabaseError) {
            tables = try database.all(database.connection.dialect.tableNames, as: { $0.string(0) })
            if tables.contains("schema_migrations") {
                let last = try database.first("SELECT MAX(version) FROM schema_migrations", as: { $0.integer(0) })
                version = Int(last ?? 0)
            }
        } catch {
            throw StoreError(error, database.address)
        }
        guard tables.isEmpty || tables.contains("schema_migrations") else { throw .foreign(database.address) }
        return version
    }
}
