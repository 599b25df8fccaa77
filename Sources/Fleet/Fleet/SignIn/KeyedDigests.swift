import Crypto

/// Digests of short codes: HMAC-SHA-256 under keys that are derived from the store's. There are so few codes that a digest
/// without a key would reveal them. Belongs to one thread.
struct KeyedDigests {
    private let keys: [(id: String, key: HMACKey)]

    /// - Parameter purpose: separates these digests from those of other codes.
    init(_ keys: DeviceKeys, purpose: String) { self.keys = keys.authenticationKeys(for: purpose) }

    /// The digest under the key that encrypts, and that key's id.
    func digest(of message: [UInt8]) -> (keyID: String, digest: [UInt8]) { (keys[0].id, keys[0].key.digest(of: message)) }

    /// Whether the message has this digest, compared in constant time. False if its key is no longer configured.
    func verifies(_ message: [UInt8], _ digest: [UInt8], keyID: String) -> Bool {
        guard let key = keys.first(where: { $0.id.hasSameBytes(as: keyID) })?.key else { return false }
        return key.verifies(digest: digest, of: message)
    }
}
