import Crypto

/// The store's keys, which encrypt device tokens, and from which those of one-time codes are derived. The first key
/// encrypts; the others only decrypt tokens that were encrypted earlier.
package struct DeviceKeys: Sendable {
    private let keys: [(id: String, key: AESGCMKey)]

    /// - Parameter keys: at least one, with distinct ids.
    package init(_ keys: [(id: String, key: AESGCMKey)]) {
        precondition(!keys.isEmpty, "DeviceKeys got no key")
        precondition(Set(keys.map { Array($0.id.utf8) }).count == keys.count, "DeviceKeys got two keys with the same id")
        self.keys = keys
    }

    /// The id of the key that encrypts.
    var currentID: String { keys[0].id }

    /// The ids of the keys that only decrypt.
    var olderIDs: [String] { keys.dropFirst().map(\.id) }

    /// Encrypts a token and binds it to its device: if the result is copied into another device's row, it cannot be
    /// decrypted there.
    func seal(_ token: String, deviceID: String) -> [UInt8] {
        keys[0].key.seal(Array(token.utf8), authenticating: Array(deviceID.utf8))
    }

    /// Decrypts a token; nil if it was encrypted with another key or for another device.
    func open(_ sealed: [UInt8], keyID: String, deviceID: String) -> String? {
        guard let key = key(id: keyID) else { return nil }
        return key.open(sealed, authenticating: Array(deviceID.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Keys for HMACs, derived from these keys, with the same ids and in the same order.
    func authenticationKeys(for purpose: String) -> [(id: String, key: HMACKey)] {
        keys.map { ($0.id, HMACKey(secret: $0.key.derivedSecret(for: purpose))) }
    }

    /// Whether there is a key with this id.
    func contains(id: String) -> Bool { key(id: id) != nil }

    private func key(id: String) -> AESGCMKey? { keys.first { $0.id.hasSameBytes(as: id) }?.key }
}

extension DeviceKeys {
    /// Rejects a store with device tokens that these keys do not decrypt. Without this check, the gateway would start,
    /// and each push to these devices would fail.
    /// - Throws: ``StoreError/keyMissing(_:key:devices:)``, ``StoreError/keyWrong(_:key:devices:)``.
    func check(against database: Database) throws(StoreError) {
        let table = DeviceTable(database: database)
        var failure: StoreError?
        do throws(DatabaseError) {
            for (id, devices) in try table.countByKey() where try !opensAny(id, table) {
                failure =
                    contains(id: id)
                    ? .keyWrong(database.address, key: id, devices: devices)
                    : .keyMissing(database.address, key: id, devices: devices)
                break
            }
        } catch {
            throw StoreError(error, database.address)
        }
        if let failure { throw failure }
    }

    /// Whether the key with this id decrypts at least one of the first 20 tokens that were encrypted under the id. If
    /// not, the key is missing, or it is a different key with the same id. Tries several tokens because a row may be
    /// damaged.
    private func opensAny(_ id: String, _ table: DeviceTable) throws(DatabaseError) -> Bool {
        try table.sealedTokens(keyID: id, after: "", most: 20).contains { device in
            open(device.sealed, keyID: id, deviceID: device.id) != nil
        }
    }
}
