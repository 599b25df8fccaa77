import Crypto

/// A bearer token that only the backend which issued it can read, such as a session's random number. Only RFC 7662's
/// question to that backend tells what it is worth.
package struct OpaqueToken: Equatable, Sendable {
    /// The longest token in bytes. Opaque tokens have some dozen.
    package static let bytesMax = 4_096

    /// The token. It is as good as a password: it reaches no log.
    package let text: String
    /// The SHA-256 digest, by which answers are kept: who reads the process's memory finds no tokens there.
    package let digest: [UInt8]

    /// Nil if the text is a JWT, which has exactly two dots (RFC 7515 section 7.1), or cannot be a token: it is empty, is
    /// longer than ``bytesMax``, or has bytes other than printable ASCII. RFC 6750 section 2.1 permits fewer characters, but
    /// issuers are not so strict: Laravel Sanctum puts a `|` into its tokens.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard (1...Self.bytesMax).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }),
            bytes.count(where: { $0 == UInt8(ascii: ".") }) != 2
        else { return nil }
        self.text = text
        digest = SHA256.digest(of: bytes)
    }
}
