import Crypto
import Testing

/// The HS256 example of RFC 7515 appendix A.1. Its secret is not valid UTF-8.
@Suite struct HMACDigestTests {
    static let secret = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
    static let signed =
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
        + ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    static let signature = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    @Test func matchesRFC7515() throws {
        let key = HMACKey(secret: try #require(Base64URL.bytes(Self.secret)))
        #expect(Base64URL.text(key.digest(of: Array(Self.signed.utf8))) == Self.signature)
        #expect(key.verifies(digest: try #require(Base64URL.bytes(Self.signature)), of: Array(Self.signed.utf8)))
    }

    @Test func rejectsOtherDigests() throws {
        let key = HMACKey(secret: try #require(Base64URL.bytes(Self.secret)))
        let (bytes, digest) = (Array(Self.signed.utf8), try #require(Base64URL.bytes(Self.signature)))
        for index in digest.indices {
            var wrong = digest
            wrong[index] ^= 1
            #expect(!key.verifies(digest: wrong, of: bytes))
        }
        #expect(!key.verifies(digest: [], of: bytes))
        #expect(!key.verifies(digest: digest.dropLast(), of: bytes))
        #expect(!key.verifies(digest: digest + [0], of: bytes))
        #expect(!key.verifies(digest: digest, of: bytes.dropLast()))
        #expect(!key.verifies(digest: digest, of: []))
    }
}
