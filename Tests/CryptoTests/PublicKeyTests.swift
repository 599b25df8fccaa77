import Crypto
import TestSupport
import Testing

@Suite struct PublicKeyTests {
    static let message = Array(TestKeys.signedMessage.utf8)

    /// The RSA key, read from each supported format.
    static func rsaKeys() throws -> [PublicKey] {
        let modulus = try #require(Base64URL.bytes(TestKeys.rsaModulus))
        return [
            try PublicKey(pem: TestKeys.rsa), try PublicKey(pem: TestKeys.rsaPKCS1),
            try PublicKey(pem: TestKeys.rsaCertificate),
            try PublicKey(pem: "text before the block\n" + TestKeys.rsa + "\n" + TestKeys.p256),
            try PublicKey(modulus: modulus, exponent: [1, 0, 1]),
            try PublicKey(modulus: [0, 0] + modulus, exponent: [0, 1, 0, 1]),
        ]
    }

    static func p256Keys() throws -> [PublicKey] {
        let (x, y) = (try #require(Base64URL.bytes(TestKeys.p256X)), try #require(Base64URL.bytes(TestKeys.p256Y)))
        return [
            try PublicKey(pem: TestKeys.p256), try PublicKey(pem: TestKeys.p256Certificate), try PublicKey(x: x, y: y),
        ]
    }

    // MARK: Keys

    @Test func allFormatsOfAKeyVerifyItsSignature() throws {
        for key in try Self.rsaKeys() {
            #expect(key.kind == .rsa)
            #expect(key.verifies(try Self.signature(TestKeys.rsaSignature), of: Self.message))
        }
        for key in try Self.p256Keys() {
            #expect(key.kind == .p256)
            #expect(key.verifies(try Self.signature(TestKeys.p256Signature), of: Self.message))
        }
    }

    @Test(arguments: [
        (TestKeys.rsa1024, "an RSA key of 1024 bits: expected 2048 to 8192"),
        (TestKeys.p384, "an EC key on secp384r1: expected the curve P-256"),
        (TestKeys.ed25519, "a key of the type ED25519: expected RSA, or EC on the curve P-256"),
        (TestKeys.privateP256, "found a private key. Use its public key"),
        (TestKeys.encryptedP256, "found a private key. Use its public key"),
        ("", "expected PEM, from -----BEGIN …----- to -----END …-----"),
        ("secret", "expected PEM, from -----BEGIN …----- to -----END …-----"),
        (String(TestKeys.rsa.dropLast(10)), "expected PEM, from -----BEGIN …----- to -----END …-----"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "not a key that OpenSSL can read"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "not a key that OpenSSL can read"),
        ("-----BEGIN RSA PUBLIC KEY-----\nAAAA\n-----END RSA PUBLIC KEY-----", "not a key that OpenSSL can read"),
        (
            "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----",
            "expected PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE after BEGIN"
        ),
    ]) func rejectsUnusableKeys(pem: String, problem: String) {
        #expect(throws: KeyError.self) { try PublicKey(pem: pem) }
        do { _ = try PublicKey(pem: pem) } catch { #expect("\(error)" == problem) }
    }

    @Test func rejectsTrailingBytes() throws {
        // The DER with one more byte at its end.
        for pem in [TestKeys.rsaCertificate, TestKeys.p256] {
            var lines = pem.split(separator: "\n").map(String.init)
            let body = lines[1..<(lines.count - 1)].joined()
            let bytes = try #require(Base64URL.bytes(Self.urlForm(body)))
            lines = [lines[0], Self.standardForm(bytes + [0]), lines[lines.count - 1]]
            #expect(throws: KeyError.self) { try PublicKey(pem: lines.joined(separator: "\n")) }
            lines[1] = Self.standardForm(bytes)
            #expect(throws: Never.self) { try PublicKey(pem: lines.joined(separator: "\n")) }
        }
    }

    @Test func rejectsInvalidRSANumbers() throws {
        let modulus = try #require(Base64URL.bytes(TestKeys.rsaModulus))
        for exponent: [UInt8] in [[], [0], [1], [0, 0, 1], [2], [1, 0, 0]] {
            #expect(throws: KeyError.self, "\(exponent)") { try PublicKey(modulus: modulus, exponent: exponent) }
        }
        for modulus: [UInt8] in [[], [0], [1], Array(modulus.dropLast()), Array(repeating: 0xFF, count: 1025)] {
            #expect(throws: KeyError.self) { try PublicKey(modulus: modulus, exponent: [1, 0, 1]) }
        }
    }

    @Test func rejectsPointsThatAreNotOnTheCurve() throws {
        let (x, y) = (try #require(Base64URL.bytes(TestKeys.p256X)), try #require(Base64URL.bytes(TestKeys.p256Y)))
        let zero = [UInt8](repeating: 0, count: 32)
        let points = [
            ([], []), (x, []), (x, Array(y.dropLast())), ([0] + x, y), (Array(x.dropFirst()), y + [0]), (y, x), (zero, zero),
            (x, zero), ([UInt8](repeating: 255, count: 32), y), (x, [y[0] ^ 1] + y.dropFirst()),
        ]
        for (x, y) in points {
            #expect(throws: KeyError.self) { try PublicKey(x: x, y: y) }
        }
    }

    // MARK: Signatures

    @Test func rejectsChangedSignaturesAndMessages() throws {
        for (key, encoded) in [
            (try PublicKey(pem: TestKeys.rsa), TestKeys.rsaSignature),
            (try PublicKey(pem: TestKeys.p256), TestKeys.p256Signature),
        ] {
            let signature = try Self.signature(encoded)
            for index in signature.indices {
                for bit in [UInt8(1), 0x80] {
                    var wrong = signature
                    wrong[index] ^= bit
                    #expect(!key.verifies(wrong, of: Self.message))
                }
            }
            for index in Self.message.indices {
                var wrong = Self.message
                wrong[index] ^= 1
                #expect(!key.verifies(signature, of: wrong))
            }
            for wrong in [[], Array(signature.dropLast()), signature + [0], [0] + signature] {
                #expect(!key.verifies(wrong, of: Self.message))
            }
            #expect(!key.verifies(signature, of: []))
            #expect(key.verifies(signature, of: Self.message), "failed calls do not change the key")
        }
    }

    @Test func rejectsInvalidP256Signatures() throws {
        let key = try PublicKey(pem: TestKeys.p256)
        let signature = try Self.signature(TestKeys.p256Signature)
        let (r, s) = (Array(signature[..<32]), Array(signature[32...]))
        let (zero, one) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 31) + [1])
        // The order of the curve: r and s must be from 1 to this number minus 1.
        let order: [UInt8] = [
            0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
            0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
        ]
        let full = [UInt8](repeating: 0xFF, count: 32)
        for wrong in [zero + zero, r + zero, zero + s, one + one, order + s, r + order, order + order, full + full, s + r] {
            #expect(!key.verifies(wrong, of: Self.message))
        }
        #expect(!key.verifies(try Self.signature(TestKeys.p256DERSignature), of: Self.message), "DER is not JOSE's form")
    }

    @Test func rejectsSignaturesOfOtherKeysAndAlgorithms() throws {
        let (rsa, p256) = (try PublicKey(pem: TestKeys.rsa), try PublicKey(pem: TestKeys.p256))
        #expect(!rsa.verifies(try Self.signature(TestKeys.p256Signature), of: Self.message))
        #expect(!p256.verifies(try Self.signature(TestKeys.rsaSignature), of: Self.message))
        #expect(!rsa.verifies(try Self.signature(TestKeys.rsaPSSSignature), of: Self.message))
        #expect(!rsa.verifies(try Self.signature(TestKeys.rsaSHA1Signature), of: Self.message))
        #expect(!(try PublicKey(pem: TestKeys.otherP256)).verifies(try Self.signature(TestKeys.p256Signature), of: Self.message))
    }

    static func signature(_ encoded: String) throws -> [UInt8] { try #require(Base64URL.bytes(encoded)) }

    /// Converts PEM's base64 to JOSE's base64url.
    private static func urlForm(_ base64: String) -> String {
        String(base64.compactMap { $0 == "=" ? nil : $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }

    /// Encodes DER as PEM's base64, in lines of 64 characters.
    private static func standardForm(_ bytes: [UInt8]) -> String {
        let text = String(Base64URL.text(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        let padded = text + String(repeating: "=", count: (4 - text.count % 4) % 4)
        var lines: [Substring] = []
        var rest = padded[...]
        while !rest.isEmpty {
            lines.append(rest.prefix(64))
            rest = rest.dropFirst(64)
        }
        return lines.joined(separator: "\n")
    }
}
