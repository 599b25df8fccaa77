import Crypto
import Testing

@Suite struct AESGCMKeyTests {
    static let secret = [UInt8](0..<32)
    /// A plaintext, and the id of the database row in which it is stored. The row's id is the authenticated data.
    static let (plaintext, row) = (Array("a device's token".utf8), Array("devices/7".utf8))

    /// Test cases 13, 14 and 16 of the specification of Galois/Counter Mode that its authors submitted to NIST. Each
    /// has key, nonce, plaintext, authenticated data, ciphertext and tag in hexadecimal.
    static let vectors = [
        (String(repeating: "0", count: 64), String(repeating: "0", count: 24), "", "", "", "530f8afbc74536b9a963b4f1c4cb738b"),
        (
            String(repeating: "0", count: 64), String(repeating: "0", count: 24), String(repeating: "0", count: 32), "",
            "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"
        ),
        (
            "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
            """
            d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a31\
            8a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
            """,
            "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            """
            522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555\
            d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
            """, "76fc6ece0f4e1768cddf8853bb2d551b"
        ),
    ]

    @Test(arguments: vectors) func opensTestVectors(
        secret: String, nonce: String, plaintext: String, data: String, ciphertext: String, tag: String
    ) throws {
        let key = try #require(AESGCMKey(Self.bytes(secret)))
        let sealed = Self.bytes(nonce + ciphertext + tag)
        #expect(key.open(sealed, authenticating: Self.bytes(data)) == Self.bytes(plaintext))
    }

    @Test(arguments: [0, 1, 15, 16, 17, 4_096, 1_000_003]) func opensSealedPlaintexts(count: Int) throws {
        let key = try #require(AESGCMKey(Self.secret))
        let plaintext = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for row in [[], Self.row] {
            let sealed = key.seal(plaintext, authenticating: row)
            #expect(sealed.count == 12 + count + 16)
            #expect(key.open(sealed, authenticating: row) == plaintext)
            #expect(try #require(AESGCMKey(Self.secret)).open(sealed, authenticating: row) == plaintext)
        }
    }

    @Test func equalPlaintextsEncryptDifferently() throws {
        let key = try #require(AESGCMKey(Self.secret))
        let nonces = Set((0..<1_000).map { _ in Array(key.seal(Self.plaintext, authenticating: Self.row).prefix(12)) })
        #expect(nonces.count == 1_000)
    }

    @Test func rejectsAnyChangedBit() throws {
        let key = try #require(AESGCMKey(Self.secret))
        let sealed = key.seal(Self.plaintext, authenticating: Self.row)
        for index in sealed.indices {
            for bit in 0..<8 {
                var wrong = sealed
                wrong[index] ^= 1 << bit
                #expect(key.open(wrong, authenticating: Self.row) == nil)
            }
        }
        #expect(key.open(sealed, authenticating: Self.row) == Self.plaintext, "failed calls do not change the key")
    }

    @Test func rejectsTruncatedAndExtendedOutput() throws {
        let key = try #require(AESGCMKey(Self.secret))
        let sealed = key.seal(Self.plaintext, authenticating: Self.row)
        for count in sealed.indices {
            #expect(key.open(Array(sealed.prefix(count)), authenticating: Self.row) == nil)
            #expect(key.open(Array(sealed.suffix(count)), authenticating: Self.row) == nil)
        }
        #expect(key.open(sealed + [0], authenticating: Self.row) == nil)
        let empty = key.seal([], authenticating: Self.row)
        #expect(key.open(Array(empty.dropLast()), authenticating: Self.row) == nil)
    }

    @Test func rejectsOtherKeysAndAuthenticatedData() throws {
        let key = try #require(AESGCMKey(Self.secret))
        let other = try #require(AESGCMKey([1] + Self.secret.dropFirst()))
        let sealed = key.seal(Self.plaintext, authenticating: Self.row)
        for row in [[], Array("devices/8".utf8), Self.row + [0], Array(Self.row.dropLast())] {
            #expect(key.open(sealed, authenticating: row) == nil)
        }
        #expect(other.open(sealed, authenticating: Self.row) == nil)
        #expect(key.open(key.seal(Self.plaintext, authenticating: []), authenticating: Self.row) == nil)
    }

    @Test(arguments: [0, 1, 16, 24, 31, 33, 64]) func rejectsSecretsOfOtherLengths(count: Int) {
        #expect(AESGCMKey([UInt8](repeating: 7, count: count)) == nil)
    }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal.utf8).map {
            $0 <= UInt8(ascii: "9") ? $0 - UInt8(ascii: "0") : $0 - UInt8(ascii: "a") + 10
        }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
