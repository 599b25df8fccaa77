import FleetRules
import Signing

/// A phone as the store knows it: all but its token, which is sealed.
struct StoredDevice {
    /// 32 hexadecimal digits: a digest of provider and token.
    let id: String
    let provider: PushProvider
    let platform: DeviceToken.Platform?
    let environment: DeviceToken.Environment?
    /// ``Identity/key`` of whose it is.
    let owner: String
    /// What its app calls the phone.
    let name: String?
    /// ``DeviceToken/masked``.
    let masked: String
    let registeredAt: Int64
    let lastSeenAt: Int64

    var lane: PushLane { DeviceToken(provider: provider, platform: platform, environment: environment, text: "").lane }

    func removed(_ reason: String) -> RemovedDevice {
        RemovedDevice(id: id, owner: owner, provider: provider, maskedToken: masked, reason: reason)
    }
}

/// The phones, each under a digest of its token: one token is one row, whoever registers it.
struct DeviceTable {
    private static let columns = """
        id, provider, platform, environment, owner, device_id, masked, registered_at, last_seen_at
        """

    private let selectID: Statement
    private let selectOwner: Statement
    private let selectName: Statement
    private let selectReachable: Statement
    private let selectDrivers: Statement
    private let selectKey: Statement
    private let upsert: Statement
    private let updateSeal: Statement
    private let deleteID: Statement
    private let deleteIfUnseen: Statement
    private let deleteStale: Statement

    init(_ database: Database) throws(SQLiteError) {
        let select = "SELECT \(Self.columns) FROM devices"
        selectID = try Statement("\(select) WHERE id = ?", on: database)
        selectOwner = try Statement("\(select) WHERE owner = ? ORDER BY last_seen_at, id", on: database)
        selectName = try Statement("\(select) WHERE owner = ? AND device_id = ? AND id <> ? ORDER BY id", on: database)
        let reachable = "SELECT owner, id, provider, environment FROM devices"
        selectReachable = try Statement("\(reachable) WHERE owner = ? AND last_seen_at >= ? ORDER BY id", on: database)
        selectDrivers = try Statement(Self.selectDrivers, on: database)
        selectKey = try Statement(
            "SELECT id, sealed FROM devices WHERE key_id = ? AND id > ? ORDER BY id LIMIT ?", on: database)
        upsert = try Statement(
            """
            INSERT INTO devices (\(Self.columns), sealed, key_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
            ON CONFLICT (id) DO UPDATE SET platform = excluded.platform, environment = excluded.environment, \
            owner = excluded.owner, device_id = excluded.device_id, registered_at = excluded.registered_at, \
            last_seen_at = excluded.last_seen_at, sealed = excluded.sealed, key_id = excluded.key_id
            """, on: database)
        updateSeal = try Statement("UPDATE devices SET sealed = ?, key_id = ? WHERE id = ?", on: database)
        deleteID = try Statement("DELETE FROM devices WHERE id = ?", on: database)
        let returning = "RETURNING \(Self.columns)"
        deleteIfUnseen = try Statement(
            "DELETE FROM devices WHERE id = ? AND (last_seen_at < ? OR last_seen_at > ?) \(returning)", on: database)
        deleteStale = try Statement(
            """
            DELETE FROM devices WHERE id IN (SELECT id FROM devices WHERE last_seen_at < ? ORDER BY last_seen_at LIMIT ?) \
            \(returning)
            """, on: database)
    }

    /// A semicolon is the character behind the colon: what lies between are the keys of drivers.
    static let selectDrivers = """
        SELECT owner, id, provider, environment FROM devices WHERE (owner, id) > (?, ?) AND owner < 'driver;' \
        AND last_seen_at >= ? ORDER BY owner, id LIMIT ?
        """

    /// The id of a token's row: the first half of SHA-256 over the provider's name, a colon and the token.
    static func id(of token: DeviceToken) -> String {
        Fingerprint.digits(of: "\(token.provider.rawValue):\(token.text)")
    }

    // MARK: Who has which

    func device(id: String) throws(SQLiteError) -> StoredDevice? {
        try selectID.first(.string(id)) { row throws(SQLiteError) in try Self.device(row) }
    }

    /// Somebody's phones, the least recently seen first.
    func devices(of owner: String) throws(SQLiteError) -> [StoredDevice] {
        try selectOwner.all(.string(owner)) { row throws(SQLiteError) in try Self.device(row) }
    }

    /// Somebody's phones of one name, but the one with `id`.
    func devices(of owner: String, named name: String, but id: String) throws(SQLiteError) -> [StoredDevice] {
        try selectName.all(.string(owner), .string(name), .string(id)) { row throws(SQLiteError) in try Self.device(row) }
    }

    /// Where a push may go, without what only its sending needs.
    struct Address {
        let owner: String
        let id: String
        let lane: PushLane
    }

    /// Somebody's phones that were seen at `since` or later.
    func reachable(_ owner: String, since: Int64) throws(SQLiteError) -> [Address] {
        try selectReachable.all(.string(owner), .integer(since)) { row throws(SQLiteError) in try Self.address(row) }
    }

    /// The next of all drivers' phones, in the order of owners and ids.
    func reachableDrivers(after owner: String, _ id: String, since: Int64, most: Int) throws(SQLiteError) -> [Address] {
        try selectDrivers.all(.string(owner), .string(id), .integer(since), .integer(most)) { row throws(SQLiteError) in
            try Self.address(row)
        }
    }

    // MARK: Coming and going

    /// - Parameters:
    ///   - sealed: its token, sealed with the key `keyID`.
    func store(_ device: StoredDevice, sealed: [UInt8], keyID: String) throws(SQLiteError) {
        try upsert.run(
            .string(device.id), .string(device.provider.rawValue), .string(device.platform?.rawValue),
            .string(device.environment?.rawValue), .string(device.owner), .string(device.name), .string(device.masked),
            .integer(device.registeredAt), .integer(device.lastSeenAt), .blob(sealed), .string(keyID))
    }

    func remove(id: String) throws(SQLiteError) { try deleteID.run(.string(id)) }

    /// Removes a phone unless it was seen at `moment` or later; nil when there was none to remove. A time to come says that the
    /// clock was set back since, and nothing else.
    func remove(id: String, ifSeenBefore moment: Int64, now: Int64) throws(SQLiteError) -> StoredDevice? {
        try deleteIfUnseen.first(.string(id), .integer(moment), .integer(now)) { row throws(SQLiteError) in try Self.device(row) }
    }

    /// Removes some of those not seen since `cutoff`.
    func removeUnseen(since cutoff: Int64, most: Int) throws(SQLiteError) -> [StoredDevice] {
        try deleteStale.all(.integer(cutoff), .integer(most)) { row throws(SQLiteError) in try Self.device(row) }
    }

    // MARK: Seals

    /// Some of those that are sealed with a key, by id, behind `id`.
    func sealed(keyID: String, after id: String, most: Int) throws(SQLiteError) -> [(id: String, sealed: [UInt8])] {
        try selectKey.all(.string(keyID), .string(id), .integer(most)) { row throws(SQLiteError) in
            (row.string(0), row.bytes(1))
        }
    }

    func seal(id: String, _ sealed: [UInt8], keyID: String) throws(SQLiteError) {
        try updateSeal.run(.blob(sealed), .string(keyID), .string(id))
    }

    // MARK: Rows

    private static func device(_ row: Row) throws(SQLiteError) -> StoredDevice {
        StoredDevice(
            id: row.string(0), provider: try row.provider(1), platform: row.platform(2), environment: row.environment(3),
            owner: row.string(4), name: row.optionalString(5), masked: row.string(6), registeredAt: row.integer(7),
            lastSeenAt: row.integer(8))
    }

    private static func address(_ row: Row) throws(SQLiteError) -> Address {
        let token = DeviceToken(
            provider: try row.provider(2), platform: nil, environment: row.environment(3), text: "")
        return Address(owner: row.string(0), id: row.string(1), lane: token.lane)
    }
}

extension Row {
    func provider(_ column: Int32) throws(SQLiteError) -> PushProvider {
        guard let provider = PushProvider(rawValue: string(column)) else {
            throw .misread("the provider '\(string(column))'", doing: sql)
        }
        return provider
    }

    func platform(_ column: Int32) -> DeviceToken.Platform? { optionalString(column).flatMap { .init(rawValue: $0) } }

    func environment(_ column: Int32) -> DeviceToken.Environment? { optionalString(column).flatMap { .init(rawValue: $0) } }

    func lane(_ column: Int32) throws(SQLiteError) -> PushLane {
        guard let lane = PushLane(rawValue: string(column)) else { throw .misread("the lane '\(string(column))'", doing: sql) }
        return lane
    }
}
