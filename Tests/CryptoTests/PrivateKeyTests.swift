import Crypto
import TestSupport
import Testing

@Suite struct PrivateKeyTests {
    static let message = Array("header.claims".utf8)

    @Test(arguments: [
        (PrivateTestKeys.p256, PrivateTestKeys.p256Public), (PrivateTestKeys.p256SEC1, PrivateTestKeys.p256Public),
        (TestKeys.privateP256, TestKeys.otherP256),
        ("Team key:\n" + PrivateTestKeys.p256 + "\n", PrivateTestKeys.p256Public),
    ]) func p256SignaturesHaveJOSEsForm(pem: String, publicPEM: String) throws {
        let (key, publicKey) = (try PrivateKey(pem: pem), try PublicKey(pem: publicPEM))
        #expect(key.kind == .p256)
        // In about one of 128 signatures, r or s has fewer than 32 bytes and must be padded.
        for round in 0..<600 {
            let message = Self.message + [UInt8(round & 0xFF)]
            let signature = key.signature(of: message)
            #expect(signature.count == 64)
            #expect(publicKey.verifies(signature, of: message))
        }
        #expect(key.signature(of: Self.message) != key.signature(of: Self.message), "ECDSA is randomised")
        #expect(!publicKey.verifies(key.signature(of: Self.message), of: Self.message + [0]))
    }

    @Test(arguments: [
        PrivateTestKeys.rsa, PrivateTestKeys.rsaPKCS1, PrivateTestKeys.rsa.split(separator: "\n").joined(separator: "\r\n"),
    ]) func rsaKeysSignWithPKCS1AndSHA256(pem: String) throws {
        let (key, publicKey) = (try PrivateKey(pem: pem), try PublicKey(pem: PrivateTestKeys.rsaPublic))
        #expect(key.kind == .rsa)
        for message in [[], Self.message, [UInt8](repeating: 0xA5, count: 100_000)] {
            let signature = key.signature(of: message)
            #expect(signature.count == 256)
            #expect(signature == key.signature(of: message), "PKCS #1 v1.5 padding is deterministic")
            #expect(publicKey.verifies(signature, of: message))
        }
    }

    @Test func threadsCanShareAKey() async throws {
        let (key, publicKey) = (try PrivateKey(pem: PrivateTestKeys.p256), try PublicKey(pem: PrivateTestKeys.p256Public))
        let verified = await withTaskGroup(of: Bool.self) { group in
            for index in 0..<200 {
                group.addTask {
                    let message = Self.message + [UInt8(index)]
                    return publicKey.verifies(key.signature(of: message), of: message)
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(verified == 200)
    }

    @Test(arguments: [
        ("", "expected PEM"), ("secret", "expected PEM"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n", "expected PEM"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "not a key"),
        ("-----BEGIN EC PRIVATE KEY-----\nMAA=\n-----END EC PRIVATE KEY-----\n", "not a key"),
        (PrivateTestKeys.rsaPKCS1.replacing("RSA PRIVATE", with: "EC PRIVATE"), "not a key"),
        (PrivateTestKeys.p256SEC1.replacing("EC PRIVATE", with: "RSA PRIVATE"), "not a key"),
        (PrivateTestKeys.p256Public, "found PUBLIC KEY"), (TestKeys.p256Certificate, "found CERTIFICATE"),
        ("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n", "found EC PARAMETERS"),
        (PrivateTestKeys.p256Encrypted, "passphrase"), (TestKeys.encryptedP256, "passphrase"),
        (PrivateTestKeys.p256Mislabelled, "not a key"), (PrivateTestKeys.p256Mismatched, "does not match the public key"),
        (PrivateTestKeys.rsa1024, "1024 bits"), (PrivateTestKeys.p384, "secp384r1"), (PrivateTestKeys.ed25519, "ED25519"),
    ]) func rejectsOtherFilesWithoutAskingForAPassphrase(pem: String, problem: String) {
        let error = #expect(throws: KeyError.self) { try PrivateKey(pem: pem) }
        #expect(error?.description.contains(problem) == true, "\(String(describing: error))")
    }
}
