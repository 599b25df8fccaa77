import Testing

@testable import Store

@Suite struct MigrationsTests {
    private let store = TemporaryStore()

    private func open(_ migrations: Migrations = Migrations()) throws(StoreError) -> Database {
        try Database.open(path: store.path, durability: .normal, now: noon, migrations: migrations)
    }

    private static let tables = [
        "audit", "channel_sequences", "clock_readings", "device_bookings", "devices", "erasures", "idempotency",
        "notification_steps",
        "notifications", "orders", "preferences", "push_audiences", "push_jobs", "routes", "schema_migrations",
    ]

    /// The schema versions, in order.
    private static let versions = Schema.migrations.map(\.version)
    private static let known = Schema.migrations.last?.version ?? 0

    private func tables(_ database: Database) throws -> [String] {
        try database.dump("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    }

    @Test func createsSchemaInNewFile() throws {
        let database = try open()
        #expect(try tables(database) == Self.tables)
        #expect(try database.dump("SELECT * FROM schema_migrations") == Self.versions.map { "\($0)|\(noon)" })
    }

    @Test func createsSchemaInEmptyFile() throws {
        store.write([])
        #expect(try tables(open()) == Self.tables)
    }

    @Test func appliesEachMigrationOnce() throws {
        do {
            try open().run(
                "INSERT INTO orders (code, status, version, created_at, updated_at) VALUES ('A', 'available', 1, 1, 1)")
        }
        for _ in 0..<2 {
            let database = try open()
            #expect(try database.dump("SELECT * FROM schema_migrations") == Self.versions.map { "\($0)|\(noon)" })
            #expect(try database.dump("SELECT code FROM orders") == ["A"])
        }
    }

    @Test func appliesOnlyMissingMigrations() throws {
        _ = try open()
        let next = Migration(
            version: Self.known + 1, statements: ["ALTER TABLE orders ADD COLUMN colour TEXT", "CREATE TABLE more (id TEXT)"])
        let database = try open(Migrations(Schema.migrations + [next]))
        #expect(
            try database.dump("SELECT version FROM schema_migrations ORDER BY version")
                == (Self.versions + [next.version]).map(String.init))
        #expect(try tables(database) == (Self.tables + ["more"]).sorted())
    }

    @Test func failedMigrationChangesNothing() throws {
        _ = try open()
        let bad = Migration(
            version: Self.known + 1, statements: ["CREATE TABLE more (id TEXT)", "CREATE TABLE more (id TEXT)"])
        let error = #expect(throws: StoreError.self) { try open(Migrations(Schema.migrations + [bad])) }
        #expect(error?.description.contains("table more already exists") == true)
        let database = try open()
        #expect(try tables(database) == Self.tables)
        #expect(
            try database.dump("SELECT version FROM schema_migrations ORDER BY version") == Self.versions.map(String.init))
    }

    @Test func rejectsNewerSchemaWithoutChangingTheFile() throws {
        do {
            let database = try open()
            try database.run("INSERT INTO schema_migrations VALUES (700, 1)")
            try database.checkpoint()
        }
        let before = store.bytes()
        let error = #expect(throws: StoreError.self) { try open() }
        #expect(error == .newer(path: store.path, schema: 700, known: Self.known))
        #expect(
            error?.description
                == "open \(store.path): written by a newer Fleetwire (schema 700, this version supports \(Self.known)). "
                + "Run that version, or set store.path to another file.")
        #expect(store.bytes() == before)
        #expect(throws: StoreError.newer(path: store.path, schema: 700, known: Self.known)) {
            try Database.open(readingFrom: store.path)
        }
    }

    @Test func rejectsForeignDatabaseWithoutChangingIt() throws {
        store.write([])
        try Database(path: store.path, .writing).run("CREATE TABLE recipes (name TEXT)")
        let before = store.bytes()
        #expect(throws: StoreError.foreign(path: store.path)) { try open() }
        #expect(store.bytes() == before)
    }

    @Test func readerRejectsOlderSchema() throws {
        store.write([])
        #expect(throws: StoreError.older(path: store.path, schema: 0, known: Self.known)) {
            try Database.open(readingFrom: store.path)
        }
    }

    /// The schema contains no words that PostgreSQL rejects or interprets differently.
    @Test func schemaUsesOnlyCommonSQL() {
        for sql in Schema.migrations.flatMap(\.statements) {
            for word in ["PRAGMA", "AUTOINCREMENT", "WITHOUT ROWID", "STRICT", "INTEGER", "DATETIME", "IF NOT EXISTS", "REPLACE"]
            {
                #expect(!sql.contains(word), "\(word) in \(sql)")
            }
        }
    }
}
