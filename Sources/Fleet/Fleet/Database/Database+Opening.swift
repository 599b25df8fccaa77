/// Which commits a power failure may lose, and with a database server also a crash of that. A crash of this process loses no
/// commit with either setting.
package enum Durability: String, CaseIterable, Sendable {
    /// None: each commit waits until the disk has stored it.
    case full
    /// The commits since the last checkpoint (a file) or of the last second (a server), at most. The store stays
    /// consistent.
    case normal
}

extension Database {
    /// Opens the store for writing; creates and migrates it if necessary. Only one gateway at a time can have a store
    /// open for writing.
    ///
    /// - Parameter member: the node, if the gateway is one of a cluster: then other nodes may have it open, too.
    package static func open(
        _ address: StoreAddress, durability: Durability, now: Int64, as member: ClusterMember? = nil,
        _ observer: StoreWaitObserver = StoreWaitObserver()
    ) throws(StoreError) -> Database {
        let database = try open(address, durability: durability, now: now, migrations: Migrations(), as: member, observer)
        if let server = database.server {
            try attempt(address) { () throws(DatabaseError) in try server.markCommits() }
        }
        return database
    }

    static func open(
        _ address: StoreAddress, durability: Durability, now: Int64, migrations: Migrations,
        as member: ClusterMember? = nil, _ observer: StoreWaitObserver = StoreWaitObserver()
    ) throws(StoreError) -> Database {
        switch address {
        case .file(let path):
            let file = try StoreFile(path: path)
            let connection = try attempt(address) { () throws(DatabaseError) in
                try SQLiteConnection(path: path, .writing, file: file)
            }
            let database = Database(connection, address)
            try migrations.checkBeforeWriting(database)
            try attempt(address) { () throws(DatabaseError) in try connection.setUpWriting(durability) }
            try migrations.apply(to: database, now: now, onMigration: observer.onMigration)
            try file.watchLog()
            // It was opened by its name, after the file was locked.
            if let loss = file.loss { throw .unreachable(address, detail: "\(loss)") }
            // Only programs other than Fleetwire lock the file now. A batch must not wait long for one: it gets 503.
            connection.busyTimeout = 50
            return database
        case .postgres(let uri):
            let connection = try attempt(address) { () throws(DatabaseError) in
                try PostgresConnection(uri, member.map { .clustered($0, durability) } ?? .exclusive(durability), observer)
            }
            let database = Database(connection, address)
            if try !migrations.isCurrent(database) {
                try attempt(address) { () throws(DatabaseError) in try connection.checkMayCreate() }
            }
            // Nodes of the version before would not understand the new tables.
            if member != nil, !connection.isAlone { try migrations.checkBeforeReading(database) }
            // A migration may write a large table anew.
            try attempt(address) { () throws(DatabaseError) in try connection.limitStatements(false) }
            try migrations.apply(to: database, now: now, onMigration: observer.onMigration)
            try attempt(address) { () throws(DatabaseError) in try connection.limitStatements(true) }
            return database
        }
    }

    /// Opens the store for reading. A gateway may have it open for writing at the same time.
    package static func open(readingFrom address: StoreAddress) throws(StoreError) -> Database {
        try open(besideGateway: address, .reading, .reading)
    }

    /// Opens the store for writing while a gateway may have it open, too.
    static func open(besideGateway address: StoreAddress) throws(StoreError) -> Database {
        // Without the lock that keeps a second gateway from writing: the databases' own locks admit one more row.
        try open(besideGateway: address, .writing, .shared)
    }

    private static func open(
        besideGateway address: StoreAddress, _ fileAccess: SQLiteConnection.Access, _ serverAccess: PostgresConnection.Access
    ) throws(StoreError) -> Database {
        let connection = try attempt(address) { () throws(DatabaseError) -> any DatabaseConnection in
            switch address {
            case .file(let path): try SQLiteConnection(path: path, fileAccess)
            case .postgres(let uri): try PostgresConnection(uri, serverAccess)
            }
        }
        let database = Database(connection, address)
        try Migrations().checkBeforeReading(database)
        return database
    }

    static func attempt<Result>(
        _ address: StoreAddress, _ body: () throws(DatabaseError) -> Result
    ) throws(StoreError) -> Result {
        do { return try body() } catch { throw StoreError(error, address) }
    }
}
