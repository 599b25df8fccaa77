import Crypto
import FleetRules

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
///
/// A row that nobody here can have written is passed over, with a complaint: an action must not fail because of it.
struct DeviceTable {
    private static let columns = """
        id, provider, platform, environment, owner, device_id, masked, registered_at, last_seen_at
        """

    private let unreadableRows: UnreadableRows
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

    init(_ database: Database, _ complaints: UnreadableRows = UnreadableRows()) throws(DatabaseError) {
        self.unreadableRows = complaints
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
            ON CONFLICT (id) DO UPDATE SET provider = excluded.provider, platform = excluded.platform, \
            environment = excluded.environment, \
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
        SELECT owner, id, provider, environment FROM devices WHERE owner > ? AND owner < 'driver;' \
        AND last_seen_at >= ? ORDER BY owner, id LIMIT ?
        """

    /// The id of a token's row: the first half of SHA-256 over the provider's name, a colon and the token.
    static func id(of token: DeviceToken) -> String {
        StableID.digits(of: "\(token.provider.rawValue):\(token.text)")
    }

    // MARK: Who has which

    func device(id: String) throws(DatabaseError) -> StoredDevice? {
        try selectID.first(.string(id), body: device) ?? nil
    }

    /// Somebody's phones, the least recently seen first.
    func devices(of owner: String) throws(DatabaseError) -> [StoredDevice] {
        try selectOwner.all(.string(owner), body: device).compactMap { $0 }
    }

    /// Somebody's phones of one name, but the one with `id`.
    func devices(of owner: String, named name: String, but id: String) throws(DatabaseError) -> [StoredDevice] {
        try selectName.all(.string(owner), .string(name), .string(id), body: device).compactMap { $0 }
    }

    /// Where a push may go, without what only its sending needs.
    struct Address {
        let owner: String
        let id: String
        let lane: PushLane
    }

    /// Somebody's phones that were seen at `since` or later.
    func reachable(_ owner: String, since: Int64) throws(DatabaseError) -> [Address] {
        try selectReachable.all(.string(owner), .integer(since), body: address).compactMap { $0 }
    }

    /// Some drivers' phones, all of each.
    struct DriversPage {
        let devices: [Address]
        /// Nil when there are no others behind.
        let lastOwner: String?
    }

    /// The next of all drivers' phones, in the order of owners and ids, about `most`. Nobody's are torn apart: a phone that
    /// gets another token between two pages would be in neither of them, or in both.
    func reachableDrivers(after owner: String, since: Int64, most: Int) throws(DatabaseError) -> DriversPage {
        let rows = try selectDrivers.all(.string(owner), .integer(since), .integer(most)) { row throws(DatabaseError) in
            (owner: row.string(0), phone: address(row))
        }
        guard rows.count == most, let last = rows.last?.owner else {
            return DriversPage(devices: rows.compactMap(\.phone), lastOwner: nil)
        }
        // His may go on behind the page. Nobody has a page full of them, and if somebody had, the rest would be left out.
        let whole = rows.prefix { !$0.owner.isSame(as: last) }
        return whole.isEmpty
            ? DriversPage(devices: rows.compactMap(\.phone), lastOwner: last)
            : DriversPage(devices: whole.compactMap(\.phone), lastOwner: whole.last?.owner)
    }

    // MARK: Coming and going

    /// - Parameters:
    ///   - sealed: its token, sealed with the key `keyID`.
    func store(_ device: StoredDevice, sealed: [UInt8], keyID: String) throws(DatabaseError) {
        try upsert.run(
            .string(device.id), .string(device.provider.rawValue), .string(device.platform?.rawValue),
            .string(device.environment?.rawValue), .string(device.owner), .string(device.name), .string(device.masked),
            .integer(device.registeredAt), .integer(device.lastSeenAt), .blob(sealed), .string(keyID))
    }

    func remove(id: String) throws(DatabaseError) { try deleteID.run(.string(id)) }

    /// Removes a phone unless it was seen at `moment` or later; nil when there was none to remove. A time to come says that the
    /// clock was set back since, and nothing else.
    func remove(id: String, ifSeenBefore moment: Int64, now: Int64) throws(DatabaseError) -> StoredDevice? {
        try deleteIfUnseen.first(.string(id), .integer(moment), .integer(now), body: device) ?? nil
    }

    /// Removes some of those not seen since `cutoff`.
    func removeUnseen(since cutoff: Int64, most: Int) throws(DatabaseError) -> [StoredDevice] {
        try deleteStale.all(.integer(cutoff), .integer(most), body: device).compactMap { $0 }
    }

    // MARK: Seals

    /// Some of those that are sealed with a key, by id, behind `id`.
    func sealed(keyID: String, after id: String, most: Int) throws(DatabaseError) -> [(id: String, sealed: [UInt8])] {
        try selectKey.all(.string(keyID), .string(id), .integer(most)) { row throws(DatabaseError) in
            (row.string(0), row.bytes(1))
        }
    }

    func seal(id: String, _ sealed: [UInt8], keyID: String) throws(DatabaseError) {
        try updateSeal.run(.blob(sealed), .string(keyID), .string(id))
    }

    // MARK: Rows

    /// Nil when it cannot be read.
    private func device(_ row: Row) -> StoredDevice? {
        guard let origin = row.origin(1, 3) else { return complain(of: row.string(4)) }
        return StoredDevice(
            id: row.string(0), provider: origin.provider, platform: row.platform(2), environment: origin.environment,
            owner: row.string(4), name: row.optionalString(5), masked: row.string(6), registeredAt: row.integer(7),
            lastSeenAt: row.integer(8))
    }

    private func address(_ row: Row) -> Address? {
        guard let origin = row.origin(2, 3) else { return complain(of: row.string(0)) }
        let token = DeviceToken(provider: origin.provider, platform: nil, environment: origin.environment, text: "")
        return Address(owner: row.string(0), id: row.string(1), lane: token.lane)
    }

    private func complain<Nothing>(of owner: String) -> Nothing? {
        unreadableRows.add("the provider of a device", of: owner)
        return nil
    }
}

extension Row {
    /// Which provider's a device is, and of which environment; nil when that is nothing we know.
    func origin(_ provider: Int32, _ environment: Int32) -> (provider: PushProvider, environment: DeviceToken.Environment?)? {
        guard let provider = PushProvider(rawValue: string(provider)) else { return nil }
        guard let text = optionalString(environment) else { return (provider, nil) }
        return DeviceToken.Environment(rawValue: text).map { (provider, $0) }
    }

    func platform(_ column: Int32) -> DeviceToken.Platform? { optionalString(column).flatMap { .init(rawValue: $0) } }
}
