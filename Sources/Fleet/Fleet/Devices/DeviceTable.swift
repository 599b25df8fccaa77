import Crypto

/// The devices. The id of a row is a digest of the device token, so a token has one row, whichever user registers it. A
/// device is seen when its app registers it, the first time or again (`last_seen_at`).
///
/// A row with values that Fleetwire does not write is skipped and reported in ``UnreadableRows``: such a row must not
/// make a command fail.
struct DeviceTable {
    static let table = Table<StoredDevice>(
        "devices", key: ["id"], others: ["sealed", "key_id"], constant: ["masked"], update: ["quarantined_at = NULL"])

    let database: Database
    var unreadableRows = UnreadableRows()
    let counts = DeviceCounts()

    /// The id of a token's row: the first half of SHA-256 over the provider's name, a colon and the token, in
    /// hexadecimal digits.
    static func id(of token: DeviceToken) -> String {
        StableID.digits(of: "\(token.provider.rawValue):\(token.text)")
    }

    // MARK: Queries

    func device(id: String) throws(DatabaseError) -> StoredDevice? {
        try database.first(Self.selectByID, .string(id), as: device)
    }

    private static let selectByID = table.select("WHERE id = ?")

    /// A user's devices, the least recently registered first.
    func devices(of owner: String) throws(DatabaseError) -> [StoredDevice] {
        try database.all(Self.selectByOwner, .string(owner), as: device).compactMap { $0 }
    }

    private static let selectByOwner = table.select("WHERE owner = ? ORDER BY last_seen_at, id")

    /// A user's devices with the name `name` (the app's `deviceId`), except the row `id`.
    func devices(of owner: String, named name: String, but id: String) throws(DatabaseError) -> [StoredDevice] {
        try database.all(Self.selectByName, .string(owner), .string(name), .string(id), as: device).compactMap { $0 }
    }

    private static let selectByName = table.select("WHERE owner = ? AND device_id = ? AND id <> ? ORDER BY id")

    /// A device to which a push job can be addressed, without the data that is needed only for sending, such as the
    /// token.
    struct Address {
        let owner: String
        let id: String
        let lane: PushLane
    }

    /// A user's devices that were seen at `since` or later.
    func reachable(_ owner: String, since: Int64) throws(DatabaseError) -> [Address] {
        try database.all(Self.selectReachable, .string(owner), .integer(since), as: address).compactMap { $0 }
    }

    func prefetchReachable(_ owner: String, since: Int64) throws(DatabaseError) {
        try database.prefetch(Self.selectReachable, .string(owner), .integer(since))
    }

    private static let selectReachable: SQL =
        "SELECT owner, id, provider, environment FROM devices WHERE owner = ? AND last_seen_at >= ? ORDER BY id"

    /// The devices of some drivers. It contains all devices of each of these drivers.
    struct DriversPage {
        let devices: [Address]
        /// ``Identity/key`` of the page's last driver; the next page starts after it. Nil on the last page.
        let lastOwner: String?
    }

    /// The next page of all drivers' devices that were seen at `since` or later, sorted by owner and id, at most `most`
    /// rows. A driver's devices are never split over two pages: otherwise a device whose token, and so whose id,
    /// changes between two pages could be missing in both pages, or be in both.
    /// - Parameter owner: ``DriversPage/lastOwner`` of the previous page.
    func reachableDrivers(after owner: String, since: Int64, most: Int) throws(DatabaseError) -> DriversPage {
        // ';' follows ':' in ASCII, so the range contains exactly the keys of drivers.
        let rows = try database.all(
            """
            SELECT owner, id, provider, environment FROM devices WHERE owner > ? AND owner < 'driver;' \
            AND last_seen_at >= ? ORDER BY owner, id LIMIT ?
            """, .string(owner), .integer(since), .integer(most),
            as: { row in (owner: row.string(0), device: address(row)) })
        guard rows.count == most, let last = rows.last?.owner else {
            return DriversPage(devices: rows.compactMap(\.device), lastOwner: nil)
        }
        // The last driver may have more devices after this page, so all devices of that driver go to the next page. If
        // one driver's devices filled a whole page, the driver's further devices would be left out. That does not
        // occur: a user has at most 20 devices.
        let whole = rows.prefix { !$0.owner.hasSameBytes(as: last) }
        return whole.isEmpty
            ? DriversPage(devices: rows.compactMap(\.device), lastOwner: last)
            : DriversPage(devices: whole.compactMap(\.device), lastOwner: whole.last?.owner)
    }

    // MARK: Changes

    /// Inserts or replaces a device.
    /// - Parameter sealed: the device's token, encrypted with the key `keyID`.
    func store(_ device: StoredDevice, sealed: [UInt8], keyID: String) throws(DatabaseError) {
        let replaced = try database.first(Self.selectLane, .string(device.id), as: { lane($0, 0, 1) })
        if let replaced { counts.add(-1, to: replaced) }
        counts.add(1, to: device.lane)
        try database.change(Self.table.upsert, Self.table.values(of: device, .blob(sealed), .string(keyID)))
    }

    private static let selectLane = SQL("SELECT provider, environment FROM devices WHERE id = ?")

    /// Stores the APNs environment of a device if it was unknown.
    /// - Returns: the device; nil if its environment was known, or if it was removed.
    func setEnvironment(_ environment: DeviceToken.Environment, of id: String) throws(DatabaseError) -> StoredDevice? {
        let stored = try database.first(Self.updateEnvironment, .string(environment.rawValue), .string(id), as: device)
        if let stored {
            counts.add(-1, to: Self.lane(of: (.apns, nil)))
            counts.add(1, to: stored.lane)
        }
        return stored
    }

    private static let updateEnvironment = SQL(
        "UPDATE devices SET environment = ? WHERE id = ? AND environment IS NULL RETURNING \(StoredDevice.columnList)")

    // MARK: Quarantine

    /// Quarantines a device if it was last seen before `moment`: its push jobs stay queued. The quarantine ends when
    /// the device is removed, released or registered again, and when the gateway starts.
    func quarantine(id: String, ifSeenBefore moment: Int64, now: Int64) throws(DatabaseError) {
        try database.change(
            "UPDATE devices SET quarantined_at = ? WHERE id = ? AND last_seen_at < ?", .integer(now), .string(id),
            .integer(moment))
    }

    /// Ends a device's quarantine.
    func release(id: String) throws(DatabaseError) {
        try database.change("UPDATE devices SET quarantined_at = NULL WHERE id = ?", .string(id))
    }

    /// Ends the quarantine of at most `most` devices. At the start: the lanes that doubted the rejections are gone, and the
    /// configuration may have been corrected. If it was not, the provider rejects the devices' next pushes again.
    /// - Returns: their number.
    func release(most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            UPDATE devices SET quarantined_at = NULL WHERE id IN (SELECT id FROM devices WHERE quarantined_at IS NOT NULL LIMIT ?)
            """, .integer(most))
    }

    // MARK: Removal

    func remove(id: String) throws(DatabaseError) {
        let sql: SQL = "DELETE FROM devices WHERE id = ? RETURNING provider, environment"
        let removed = try database.first(sql, .string(id), as: { lane($0, 0, 1) })
        if let removed { counts.add(-1, to: removed) }
    }

    /// Removes a device if it was last seen before `moment`. Also removes it if it was last seen after `now`: such a
    /// time only shows that the clock was set back.
    /// - Returns: the removed device; nil if none was removed.
    func remove(id: String, ifSeenBefore moment: Int64, now: Int64) throws(DatabaseError) -> StoredDevice? {
        let removed = try database.first(Self.deleteIfUnseen, .string(id), .integer(moment), .integer(now), as: device)
        if let removed { counts.add(-1, to: removed.lane) }
        return removed
    }

    private static let deleteIfUnseen = SQL(
        "DELETE FROM devices WHERE id = ? AND (last_seen_at < ? OR last_seen_at > ?) RETURNING \(StoredDevice.columnList)")

    /// Removes at most `most` devices that were last seen before `cutoff`, the least recently seen first.
    /// - Returns: the removed devices, except those whose rows are unreadable.
    func removeUnseen(since cutoff: Int64, most: Int) throws(DatabaseError) -> [StoredDevice] {
        let removed = try database.all(Self.deleteStale, .integer(cutoff), .integer(most), as: device).compactMap { $0 }
        for device in removed { counts.add(-1, to: device.lane) }
        return removed
    }

    private static let deleteStale = SQL(
        """
        DELETE FROM devices WHERE id IN (SELECT id FROM devices WHERE last_seen_at < ? ORDER BY last_seen_at LIMIT ?) \
        RETURNING \(StoredDevice.columnList)
        """)

    // MARK: Encrypted tokens

    /// The encrypted tokens of at most `most` devices in id order: the devices whose tokens are encrypted with the key
    /// `keyID`, and whose ids are greater than `id`.
    func sealedTokens(keyID: String, after id: String, most: Int) throws(DatabaseError) -> [(id: String, sealed: [UInt8])] {
        try database.all(
            "SELECT id, sealed FROM devices WHERE key_id = ? AND id > ? ORDER BY id LIMIT ?",
            .string(keyID), .string(id), .integer(most), as: { row in (row.string(0), row.bytes(1)) })
    }

    /// Replaces a device's encrypted token.
    /// - Parameters:
    ///   - sealed: the token, encrypted again.
    ///   - keyID: the key that encrypted `sealed`.
    func replaceSealedToken(of id: String, by sealed: [UInt8], keyID: String) throws(DatabaseError) {
        try database.change(
            "UPDATE devices SET sealed = ?, key_id = ? WHERE id = ?", .blob(sealed), .string(keyID), .string(id))
    }

    /// Counts the rows, once at the start.
    func countByLane() throws(DatabaseError) {
        let rows = try database.all(
            "SELECT provider, environment, COUNT(*) FROM devices GROUP BY provider, environment",
            as: { row in (lane: lane(row, 0, 1), count: Int(row.integer(2))) })
        for (lane, count) in rows { if let lane { counts.add(count, to: lane) } }
        counts.commit()
    }

    /// The number of devices per encryption key.
    func countByKey() throws(DatabaseError) -> [(keyID: String, devices: Int)] {
        try database.all(
            "SELECT key_id, COUNT(*) FROM devices GROUP BY key_id", as: { row in (row.string(0), Int(row.integer(1))) })
    }

    // MARK: Rows

    /// The device in a row; nil if the row is unreadable.
    private func device(_ row: Row) -> StoredDevice? {
        if let device = try? StoredDevice(row: row) { return device }
        return unreadable(row.string(Self.owner))
    }

    private static let owner = StoredDevice.number(of: "owner")

    private func address(_ row: Row) -> Address? {
        guard let origin = row.origin(2, 3) else { return unreadable(row.string(0)) }
        return Address(owner: row.string(0), id: row.string(1), lane: Self.lane(of: origin))
    }

    /// The lane of a row's device; nil if the row is unreadable.
    private func lane(_ row: Row, _ provider: Int32, _ environment: Int32) -> PushLane? {
        row.origin(provider, environment).map(Self.lane)
    }

    private static func lane(of origin: (provider: PushProvider, environment: DeviceToken.Environment?)) -> PushLane {
        DeviceToken(provider: origin.provider, platform: nil, environment: origin.environment, text: "").lane
    }

    /// An SQL condition: the device is in the lane, as ``DeviceToken/lane`` says it.
    static func condition(of lane: PushLane) -> String {
        switch lane {
        case .fcm: "provider = 'fcm'"
        case .apns: "provider = 'apns' AND COALESCE(environment, 'production') = 'production'"
        case .apnsSandbox: "provider = 'apns' AND environment = 'sandbox'"
        }
    }

    private func unreadable<Value>(_ owner: String) -> Value? {
        unreadableRows.add("the provider of a device", of: owner)
        return nil
    }
}

extension StoredDevice: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<StoredDevice>) throws(DatabaseError) -> StoredDevice {
        try StoredDevice(
            id: column("id", \.id), provider: column("provider", \.provider), platform: column("platform", \.platform),
            environment: column("environment", \.environment, as: .known), owner: column("owner", \.owner),
            name: column("device_id", \.name), maskedToken: column("masked", \.maskedToken),
            registeredAt: column("registered_at", \.registeredAt), lastSeenAt: column("last_seen_at", \.lastSeenAt))
    }
}

extension PushProvider: ColumnValue {}
extension DeviceToken.Platform: ColumnValue {}
extension DeviceToken.Environment: ColumnValue {}

extension ColumnForm<DeviceToken.Environment?> {
    /// NULL is nil, but an environment of which this program does not know is none.
    fileprivate static var known: ColumnForm {
        ColumnForm(
            sqlValue: { $0.sqlValue },
            read: { row, column in
                if row.isNull(column) { return .some(nil) }
                guard let environment = DeviceToken.Environment(row, column) else { return nil }
                return .some(environment)
            }, blank: nil)
    }
}

extension Row {
    /// Reads a device's provider and environment; nil if one of them is unknown.
    func origin(_ provider: Int32, _ environment: Int32) -> (provider: PushProvider, environment: DeviceToken.Environment?)? {
        guard let provider = PushProvider(rawValue: string(provider)) else { return nil }
        guard let text = optionalString(environment) else { return (provider, nil) }
        return DeviceToken.Environment(rawValue: text).map { (provider, $0) }
    }
}
