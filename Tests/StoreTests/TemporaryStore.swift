import Access
import Crypto
import Foundation
import Glibc
import JSON
import Primitives
import Testing
import Threads

@testable import Fleet

/// A store in a new temporary directory, or in a new schema of the PostgreSQL database that the environment variable
/// `FLEETWIRE_TEST_POSTGRES` names. It is removed when the object is released.
final class TemporaryStore: Sendable {
    /// The URI of a database (`dev/with-postgres`); nil: the stores are SQLite files.
    private static let server = ProcessInfo.processInfo.environment["FLEETWIRE_TEST_POSTGRES"]
    /// Whether stores are SQLite files.
    static var isFile: Bool { server == nil }

    let directory: String
    /// The schema's name.
    private let schema = "test_\(UInt64.random(in: 0 ... .max))"
    var path: String { directory + "/var/fleetwire.db" }
    var address: StoreAddress {
        Self.server.map { .postgres("\($0)&options=-csearch_path%3D\(schema)") } ?? .file(path)
    }

    init() {
        var template = Array("/tmp/fleetwire-store-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { preconditionFailure("mkdtemp failed with errno \(errno)") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        administer("CREATE SCHEMA \(schema)")
    }

    private func administer(_ sql: String) {
        guard let server = Self.server else { return }
        do { try PostgresSession(server).query(sql) } catch { preconditionFailure("\(error)") }
    }

    deinit {
        administer("DROP SCHEMA \(schema) CASCADE")
        for name in ["", ".lock", ".key", ".backed-up", "-wal", "-shm", "-journal"] { unlink(path + name) }
        chmod(directory + "/var", 0o700)
        rmdir(directory + "/var")
        rmdir(directory)
    }

    /// Opens the store for writing.
    /// - Parameter change: changes the default options.
    func executor(at now: Int64 = noon, _ change: (inout StoreWriter.Options) -> Void = { _ in }) throws -> CommandExecutor {
        var options = StoreWriter.Options(address, keys: testKeys("k1"), encode: FleetResponses.body(of:correlationID:))
        change(&options)
        return try CommandExecutor(Database.open(address, durability: .normal, now: now, as: options.member), options)
    }

    /// A connection to the store, which need not have a schema.
    func unchecked() throws -> Database {
        switch address {
        case .file(let path):
            if access(path, F_OK) != 0 { write([]) }
            return try Database(path: path, .writing)
        case .postgres(let uri): return Database(try PostgresConnection(uri, .shared), address)
        }
    }

    /// The response to a query, as HTTPAPI encodes it.
    func response(to query: Query, at now: Int64 = noon) throws -> Result<String, RuleError> {
        try QueryExecutor(Database.open(readingFrom: address)).execute(query, now: now).map {
            String(decoding: FleetResponses.body(of: $0), as: UTF8.self)
        }
    }

    /// Writes `bytes` to the database file.
    func write(_ bytes: [UInt8]) {
        mkdir(directory + "/var", 0o700)
        let descriptor = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0o600)
        Glibc.write(descriptor, bytes, bytes.count)
        close(descriptor)
    }

    /// The content of the database file. A file of more than 1 MiB is cut off there.
    func bytes() -> [UInt8] {
        guard Self.isFile else { return [] }
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        return Array(bytes[..<read(descriptor, &bytes, bytes.count)])
    }
}

extension Trait where Self == ConditionTrait {
    /// A test of what only SQLite files have: a log beside the file, full disks, `PRAGMA`.
    static var fileOnly: Self { .enabled(if: TemporaryStore.isFile, "needs an SQLite file") }
}

/// 2026-11-21T12:00:00Z in milliseconds since 1970.
let noon: Int64 = 1_795_262_400_000
/// The length of a day in milliseconds.
let day: Int64 = 86_400_000

/// One key per id. The key is computed from the id, so the same id always yields the same key.
func testKeys(_ ids: String...) -> DeviceKeys {
    let keys = ids.map { id in
        let secret = (0..<32).map { UInt8(truncatingIfNeeded: $0 &+ id.utf8.reduce(7) { $0 &* 31 &+ Int($1) }) }
        guard let key = AESGCMKey(secret) else { preconditionFailure("AESGCMKey rejected a 32-byte secret") }
        return (id: id, key: key)
    }
    return DeviceKeys(keys)
}

let admin = Identity(role: .admin, id: "1")

func driver(_ id: String) -> Identity { Identity(role: .driver, id: id) }

func assign(
    _ code: String, to driver: String, by actor: Identity = admin, key: String? = nil, digest: [UInt8] = [1],
    changes: OrderChanges = OrderChanges()
) -> IssuedCommand {
    var action = OrderAction(code: code, .assign(.init(id: Identifier(driver))))
    action.changes = changes
    return command(action, by: actor, key: key, digest: digest)
}

func coordinates(_ latitude: String, _ longitude: String) -> Coordinates {
    Coordinates(latitude: JSONNumber(text: latitude), longitude: JSONNumber(text: longitude))
}

func order(_ kind: OrderAction.Kind, _ code: String) -> IssuedCommand { command(OrderAction(code: code, kind)) }

/// - Parameter actor: nil: anybody.
func command(
    _ action: any Command, by actor: Identity? = admin, key: String? = nil, digest: [UInt8] = [1], correlationID: String = "c-1"
) -> IssuedCommand {
    IssuedCommand(
        action, from: actor.map(Sender.person) ?? .anonymous, correlationID: correlationID,
        idempotencyKey: key.map { IssuedCommand.IdempotencyKey($0, digest: digest) })
}

func telemetry(_ id: String, _ kind: TelemetryEvent.Kind = .received, by actor: Identity) -> IssuedCommand {
    command(
        RecordTelemetry([
            TelemetryEvent(
                notificationID: id, type: "new_job", entityID: "B-1", kind: kind, timestamp: "2026-11-21T11:59:59Z",
                metadata: Array(#"{"title":"New job"}"#.utf8))
        ]), by: actor)
}

extension CommandExecutor {
    /// Executes a command in a transaction.
    func commit(_ command: IssuedCommand, at now: Int64 = noon) throws -> CommandReply {
        try transaction { () throws(DatabaseError) in try execute(command, now: now) }
    }

    /// The rows of a table. Each row is one string: its columns, separated by `|`.
    func dump(_ table: String) throws -> [String] { try database.dump("SELECT * FROM \(table) ORDER BY 1, 2, 3") }

    /// The rows of the seven tables that dispatch commands write. The tables of devices, preferences, push jobs and
    /// erasures are not included.
    func dispatchTables() throws -> [[String]] {
        try ["orders", "routes", "notifications", "channel_sequences", "notification_steps", "audit", "idempotency"].map(dump)
    }

    func count(_ table: String) throws -> Int { try dump(table).count }
}
