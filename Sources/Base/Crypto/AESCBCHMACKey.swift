import COpenSSL

/// The decryption of `A256CBC-HS512`: AES-256 in CBC mode, authenticated by HMAC-SHA-512 (RFC 7518 section 5.2.5).
package struct AESCBCHMACKey: Sendable {
    private let authenticationKey: [UInt8]
    private let encryptionKey: [UInt8]

    /// The bytes of a key, an initialisation vector and a tag.
    package static let (keyBytes, vectorBytes, tagBytes) = (64, 16, 32)

    /// - Parameter bytes: the two keys, that of the tag first. If they do not have 64 bytes, the initialiser returns nil.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.keyBytes else { return nil }
        authenticationKey = Array(bytes.prefix(Self.keyBytes / 2))
        encryptionKey = Array(bytes.suffix(Self.keyBytes / 2))
    }

    /// Decrypts a ciphertext after it has checked the tag, in constant time. Returns nil if the tag is wrong.
    /// - Parameter authenticating: the bytes that the tag covers besides the vector and the ciphertext.
    package func open(
        _ ciphertext: [UInt8], vector: [UInt8], tag: [UInt8], authenticating: [UInt8]
    ) -> [UInt8]? {
        guard vector.count == Self.vectorBytes else { return nil }
        let bits = UInt64(authenticating.count) * 8
        let length = (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * UInt64($0))) }
        let digest = hmacSHA512(of: authenticating + vector + ciphertext + length)
        guard ConstantTime.equal(Array(digest.prefix(Self.tagBytes)), tag) else { return nil }
        return decrypt(ciphertext, vector: vector)
    }

    private func hmacSHA512(of bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            let result = EVP_Q_mac(
                nil, "HMAC", nil, "SHA512", nil, authenticationKey, authenticationKey.count, bytes, bytes.count,
                buffer.baseAddress, buffer.count, &count)
            precondition(result != nil && count == 64, "EVP_Q_mac failed to compute an HMAC-SHA512 digest")
        }
    }

    /// Returns nil if the padding is wrong, which a genuine ciphertext never has.
    private func decrypt(_ ciphertext: [UInt8], vector: [UInt8]) -> [UInt8]? {
        guard let context = EVP_CIPHER_CTX_new() else { preconditionFailure("EVP_CIPHER_CTX_new failed: out of memory") }
        defer { EVP_CIPHER_CTX_free(context) }
        var isPadded = false
        let plaintext = [UInt8](unsafeUninitializedCapacity: ciphertext.count + Self.vectorBytes) { buffer, count in
            guard let output = buffer.baseAddress else { return }
            var (written, last): (Int32, Int32) = (0, 0)
            isPadded =
                EVP_DecryptInit_ex2(context, EVP_aes_256_cbc(), encryptionKey, vector, nil) == 1
                && EVP_DecryptUpdate(context, output, &written, ciphertext, Int32(ciphertext.count)) == 1
                && EVP_DecryptFinal_ex(context, output + Int(written), &last) == 1
            count = isPadded ? Int(written) + Int(last) : 0
        }
        return isPadded ? plaintext : nil
    }
}
