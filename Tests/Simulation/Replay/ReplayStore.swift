import Crypto
import Fleet
import Glibc

/// The store of a delivery world: the real tables and statements on a file, without the threads. It survives the
/// processes that open it.
final class ReplayStore {
    /// A request for the writer.
    enum Request {
        case command(IssuedCommand)
        case receipts([Receipt])
        case subscription(CursorRequest)
    }

    /// What the writer has done with a request.
    enum Result {
        case command(CommandReply)
        case receipts([Receipt])
        case subscription(CursorReply)
    }

    private let directory: String
    private var path: String { directory + "/fleetwire.db" }
    private let backlogLimit: Int
    private var executor: CommandExecutor?
    private var reader: ReplayReader?
    /// While the disk is full, a transaction that writes anything fails.
    var isFull = false

    /// 2026-11-21T12:00:00Z in milliseconds since 1970: when all runs begin.
    static let start: Int64 = 1_795_262_400_000

    init(backlogLimit: Int) throws(Discrepancy) {
        self.backlogLimit = backlogLimit
        var template = Array("/tmp/fleetwire-simulation-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Discrepancy("mkdtemp failed with errno \(errno)") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        try open(at: Self.start)
    }

    deinit {
        close()
        for name in ["", ".lock", "-wal", "-shm"] { unlink(path + name) }
        rmdir(directory)
    }

    /// Opens the file, as a new process does. What was not committed is lost.
    func open(at now: Int64) throws(Discrepancy) {
        close()
        do {
            let database = try Database.open(.file(path), durability: .normal, now: now)
            // No machine fails here, so nothing needs to be on the disk.
            try database.run("PRAGMA synchronous = OFF")
            var options = StoreWriter.Options(.file(path), keys: Self.keys, encode: { _, _ in [] })
            options.rules = Self.rules
            executor = try CommandExecutor(database, options)
            reader = ReplayReader(
                try Database.open(readingFrom: .file(path)), backlogHours: options.backlogHours, limit: backlogLimit)
        } catch {
            throw Discrepancy("the store cannot be opened: \(error)")
        }
    }

    private func close() { (executor, reader) = (nil, nil) }

    /// The name of an announcement is how long it is valid.
    private static let rules = NotificationRules(
        rules: [
            "MINUTE": .init(lifetimeSeconds: 60, collapsesByJob: false, push: []),
            "WEEK": .init(lifetimeSeconds: 604_800, collapsesByJob: false, push: []),
        ])

    private static let keys: DeviceKeys = {
        guard let key = AESGCMKey([UInt8](repeating: 7, count: 32)) else { preconditionFailure("32 bytes are a key") }
        return DeviceKeys([("simulation", key)])
    }()

    // MARK: Writing

    /// Needs more pages than a file can have free. It is never committed.
    private static let fill = "CREATE TABLE filler AS SELECT zeroblob(10000000)"

    /// Executes requests in one transaction.
    /// - Returns: a result per request; nil if the disk is full.
    func execute(_ batch: [Request], now: Int64) throws(Discrepancy) -> [Result]? {
        guard let executor else { return nil }
        let writes = isFull && batch.contains { if case .subscription = $0 { false } else { true } }
        do throws(DatabaseError) {
            // SQLite raises the limit to the size of the file.
            try executor.database.run("PRAGMA max_page_count = \(isFull ? 1 : 1_000_000)")
            let results = try executor.transaction { () throws(DatabaseError) in
                let results = try batch.map { request throws(DatabaseError) in try execute(request, executor, now) }
                // The file may still have room in its last pages.
                if writes { try executor.database.run(Self.fill) }
                return results
            }
            return results
        } catch {
            guard error.isTransient else { throw Discrepancy("the store failed: \(error)") }
            return nil
        }
    }

    private func execute(
        _ request: Request, _ executor: CommandExecutor, _ now: Int64
    ) throws(DatabaseError) -> Result {
        switch request {
        case .command(let command): return .command(try executor.execute(command, now: now))
        case .subscription(let request): return .subscription(try executor.subscribe(request, now: now))
        case .receipts(let receipts):
            for receipt in receipts { _ = try executor.record(receipt, now: now) }
            return .receipts(receipts)
        }
    }

    /// What earlier processes did not publish.
    func recover(now: Int64) throws(Discrepancy) -> [(notification: Notification, sequence: Int64, milliseconds: Int64)] {
        do throws(DatabaseError) { return try executor?.recover(now: now) ?? [] } catch {
            throw Discrepancy("the store cannot be recovered: \(error)")
        }
    }

    // MARK: Reading

    func page(for request: ReplayRequest, now: Int64) throws(Discrepancy) -> ReplayPage? {
        let reading = ClockReading(wall: now, uptime: now - Self.start + 1_000_000, bootID: "simulation")
        do throws(DatabaseError) { return try reader?.page(for: request, at: reading) } catch {
            throw Discrepancy("the store cannot be read: \(error)")
        }
    }
}
