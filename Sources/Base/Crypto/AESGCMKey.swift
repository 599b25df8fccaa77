import COpenSSL

/// Authenticated encryption with one secret: AES-256 in Galois/Counter Mode (NIST SP 800-38D).
///
/// The output is the nonce (12 bytes), the ciphertext (as long as the plaintext), and the tag (16 bytes). Nonces are
/// random, so one key must not encrypt more than 2³² plaintexts (section 8.3).
package final class AESGCMKey: @unchecked Sendable {  // immutable; each call creates its own context
    private let cipher: OpaquePointer
    private let secret: [UInt8]

    private static let secretBytes = 32
    /// The bytes of a nonce and of a tag.
    package static let (nonceBytes, tagBytes) = (12, 16)

    /// - Parameter bytes: the secret itself, not a passphrase. If it does not have 32 bytes, the initialiser returns
    ///   nil.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.secretBytes else { return nil }
        guard let cipher = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil) else {
            preconditionFailure("EVP_CIPHER_fetch failed: this OpenSSL has no AES-256-GCM")
        }
        self.cipher = cipher
        secret = bytes
    }

    deinit { EVP_CIPHER_free(cipher) }

    /// A secret of 32 bytes for another purpose, derived from this one (HKDF, RFC 5869).
    package func derivedSecret(for purpose: String) -> [UInt8] {
        HKDF.key(secret: secret, salt: [], info: Array("fleetwire \(purpose)".utf8), count: 32)
    }

    /// Encrypts `plaintext`. Each call uses a fresh nonce, so equal plaintexts encrypt differently.
    /// - Parameter authenticating: bytes that identify the plaintext, such as the id of its database row. They are not
    ///   part of the output, and ``open(_:authenticating:)`` requires the same bytes.
    package func seal(_ plaintext: [UInt8], authenticating: [UInt8]) -> [UInt8] {
        let context = newContext()
        defer { EVP_CIPHER_CTX_free(context) }
        return [UInt8](unsafeUninitializedCapacity: Self.nonceBytes + plaintext.count + Self.tagBytes) { buffer, count in
            guard let nonce = buffer.baseAddress else { return }
            let ciphertext = nonce + Self.nonceBytes
            var written: Int32 = 0
            let done =
                RAND_bytes(nonce, Int32(Self.nonceBytes)) == 1
                && EVP_EncryptInit_ex2(context, cipher, secret, nonce, nil) == 1
                && EVP_EncryptUpdate(context, nil, &written, authenticating, Int32(authenticating.count)) == 1
                && EVP_EncryptUpdate(context, ciphertext, &written, plaintext, Int32(plaintext.count)) == 1
                && EVP_EncryptFinal_ex(context, ciphertext + plaintext.count, &written) == 1
                && EVP_CIPHER_CTX_ctrl(
                    context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagBytes), ciphertext + plaintext.count) == 1
            precondition(done, "EVP_Encrypt failed: no randomness or no memory is available")
            count = buffer.count
        }
    }

    /// Decrypts the output of ``seal(_:authenticating:)``. Returns nil if the output was changed, or if the key or
    /// `authenticating` is not the one that `seal` used.
    package func open(_ sealed: [UInt8], authenticating: [UInt8]) -> [UInt8]? {
        let plaintextBytes = sealed.count - Self.nonceBytes - Self.tagBytes
        guard plaintextBytes >= 0 else { return nil }
        let context = newContext()
        defer { EVP_CIPHER_CTX_free(context) }
        var isGenuine = false
        // One byte more than the plaintext, because a buffer without capacity may have no base address.
        let plaintext = [UInt8](unsafeUninitializedCapacity: plaintextBytes + 1) { buffer, count in
            isGenuine = decrypt(sealed, authenticating: authenticating, into: buffer, context)
            count = isGenuine ? plaintextBytes : 0
        }
        return isGenuine ? plaintext : nil
    }

    /// Writes the plaintext to `buffer`.
    /// - Returns: whether the tag is correct. If it is wrong, the content of `buffer` must not be used.
    private func decrypt(
        _ sealed: [UInt8], authenticating: [UInt8], into buffer: UnsafeMutableBufferPointer<UInt8>, _ context: OpaquePointer
    ) -> Bool {
        let ciphertextBytes = sealed.count - Self.nonceBytes - Self.tagBytes
        var tag = Array(sealed.suffix(Self.tagBytes))
        var written: Int32 = 0
        return sealed.withUnsafeBufferPointer { sealed in
            guard let nonce = sealed.baseAddress, let output = buffer.baseAddress else { return false }
            return EVP_DecryptInit_ex2(context, cipher, secret, nonce, nil) == 1
                && EVP_DecryptUpdate(context, nil, &written, authenticating, Int32(authenticating.count)) == 1
                && EVP_DecryptUpdate(context, output, &written, nonce + Self.nonceBytes, Int32(ciphertextBytes)) == 1
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagBytes), &tag) == 1
                && EVP_DecryptFinal_ex(context, output + ciphertextBytes, &written) == 1
        }
    }

    private func newContext() -> OpaquePointer {
        guard let context = EVP_CIPHER_CTX_new() else { preconditionFailure("EVP_CIPHER_CTX_new failed: out of memory") }
        return context
    }
}
