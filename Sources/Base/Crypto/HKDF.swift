/// The HMAC-based key derivation function with SHA-256 (RFC 5869).
package enum HKDF {
    /// Derives a key from a secret.
    /// - Parameters:
    ///   - secret: the input keying material; must not be empty.
    ///   - salt: may be empty, which is the same as 32 zero bytes (section 2.2).
    ///   - info: what the key is for.
    ///   - count: the key's length in bytes, 1 to 8,160.
    package static func key(secret: [UInt8], salt: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
        precondition((1...255 * 32).contains(count), "HKDF was asked for \(count) bytes")
        let extracted = HMACKey(secret: salt.isEmpty ? [UInt8](repeating: 0, count: 32) : salt).digest(of: secret)
        let key = HMACKey(secret: extracted)
        var output: [UInt8] = []
        var block: [UInt8] = []
        var number: UInt8 = 1
        while output.count < count {
            block = key.digest(of: block + info + [number])
            output += block
            number &+= 1
        }
        return Array(output.prefix(count))
    }
}
