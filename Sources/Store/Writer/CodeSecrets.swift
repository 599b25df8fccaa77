import Crypto

/// Makes random texts, and the digests of codes.
enum CodeSecrets {
    /// 22 characters of base64url: 128 random bits.
    static func randomText() -> String { Base64URL.text(randomBytes(16)) }

    /// Half a `jti`: 16 characters of base64url.
    static func tokenPart() -> String { Base64URL.text(randomBytes(12)) }

    /// Six decimal digits from the system's random source.
    static func code() -> String {
        var random = SystemRandomNumberGenerator()
        let digits = String(Int.random(in: 0..<1_000_000, using: &random))
        return String(repeating: "0", count: 6 - digits.utf8.count) + digits
    }

    private static func randomBytes(_ count: Int) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }
}

extension DeviceKeys {
    /// What separates the keys of codes from the keys that they are derived from.
    private static let purpose = "one-time codes"

    /// The HMAC-SHA-256 of a code, under a key derived from the key that encrypts. There are only a million codes, so a
    /// digest without a key would reveal them. It also covers the session: the same code has another digest elsewhere.
    func digest(ofCode code: String, sessionID: String) -> (keyID: String, digest: [UInt8]) {
        (currentID, HMACKey(secret: derivedKey()).digest(of: Array("\(sessionID)\n\(code)".utf8)))
    }

    /// Whether a code has this digest, compared in constant time. False if the key is not configured any more.
    func verifies(code: String, sessionID: String, digest: [UInt8], keyID: String) -> Bool {
        guard let secret = derivedKey(id: keyID) else { return false }
        return HMACKey(secret: secret).verifies(digest: digest, of: Array("\(sessionID)\n\(code)".utf8))
    }

    private func derivedKey() -> [UInt8] { derivedKey(id: currentID) ?? [] }

    private func derivedKey(id: String) -> [UInt8]? { key(id: id)?.derivedSecret(for: Self.purpose) }
}
