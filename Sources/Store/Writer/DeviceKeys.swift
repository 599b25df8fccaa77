import Crypto

/// The keys that seal what leads to a phone. The first seals; the others only open what was sealed before it came.
package struct DeviceKeys: Sendable {
    private let keys: [(id: String, key: AESGCMKey)]

    /// - Parameter keys: one at least, each with an id of its own.
    package init(_ keys: [(id: String, key: AESGCMKey)]) {
        precondition(!keys.isEmpty, "something has to seal")
        precondition(Set(keys.map { Array($0.id.utf8) }).count == keys.count, "no two keys have one id")
        self.keys = keys
    }

    /// The key that seals.
    var currentID: String { keys[0].id }

    /// Those that only open, by id.
    var olderIDs: [String] { keys.dropFirst().map(\.id) }

    /// A token as the store keeps it, bound to its device: in another row it would not open.
    func seal(_ token: String, deviceID: String) -> [UInt8] {
        keys[0].key.seal(Array(token.utf8), authenticating: Array(deviceID.utf8))
    }

    /// The token; nil when it was not sealed with that key, or for that device.
    func open(_ sealed: [UInt8], keyID: String, deviceID: String) -> String? {
        guard let key = keys.first(where: { $0.id.utf8.elementsEqual(keyID.utf8) })?.key else { return nil }
        return key.open(sealed, authenticating: Array(deviceID.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }

    func contains(id: String) -> Bool { keys.contains { $0.id.utf8.elementsEqual(id.utf8) } }
}

extension DeviceKeys {
    /// Refuses a store whose phones these keys do not open: they would be lost one after the other, and silently.
    func check(against database: Database) throws(StoreError) {
        let found: [(id: String, devices: Int)]
        do throws(DatabaseError) {
            found = try Statement("SELECT key_id, COUNT(*) FROM devices GROUP BY key_id", on: database)
                .all { row throws(DatabaseError) in (row.string(0), Int(row.integer(1))) }
        } catch {
            throw StoreError(error, path: database.path)
        }
        for (id, devices) in found {
            guard contains(id: id) else { throw .keyMissing(path: database.path, key: id, devices: devices) }
            guard try opensAny(id, database) else { throw .keyWrong(path: database.path, key: id, devices: devices) }
        }
    }

    /// A key with a known id is either the one that sealed them, or another with its name: a few tell which, and more than
    /// one because a row may be damaged.
    private func opensAny(_ id: String, _ database: Database) throws(StoreError) -> Bool {
        do throws(DatabaseError) {
            return try Statement("SELECT id, sealed FROM devices WHERE key_id = ? ORDER BY id LIMIT 20", on: database)
                .all(.string(id)) { row throws(DatabaseError) in
                    open(row.bytes(1), keyID: id, deviceID: row.string(0)) != nil
                }.contains(true)
        } catch {
            throw StoreError(error, path: database.path)
        }
    }
}
