import Crypto

/// Makes codes and random texts.
enum SignInCodeSecrets {
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

    /// What the digest of a code covers: the same code has another digest in another sign-in.
    static func message(_ code: String, _ sessionID: String) -> [UInt8] { Array("\(sessionID)\n\(code)".utf8) }

    private static func randomBytes(_ count: Int) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }
}
