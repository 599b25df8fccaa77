import COpenSSL

/// HMAC-SHA256 (RFC 2104, FIPS 180-4) with one secret.
///
/// The OpenSSL context receives the secret once. For each signature it is re-initialised without a secret: OpenSSL then
/// reuses the state that it derived from the secret, which costs a fifth of deriving it again. The context changes with
/// each use, so a key belongs to one thread.
package final class HMACKey {
    private let context: OpaquePointer

    /// - Parameter secret: the shared secret; must not be empty.
    package convenience init(secret: String) { self.init(secret: Array(secret.utf8)) }

    /// - Parameter secret: the shared secret, as bytes; must not be empty.
    package init(secret: [UInt8]) {
        precondition(!secret.isEmpty, "HMACKey was created with an empty secret")
        let algorithm = EVP_MAC_fetch(nil, "HMAC", nil)
        guard let context = EVP_MAC_CTX_new(algorithm) else { preconditionFailure("EVP_MAC_CTX_new failed: out of memory") }
        EVP_MAC_free(algorithm)  // the context has its own reference
        self.context = context
        let keyed = copenssl_hmac_sha256_key(context, secret, secret.count)
        precondition(keyed == 1, "EVP_MAC_init failed: this OpenSSL has no HMAC-SHA256")
    }

    deinit { EVP_MAC_CTX_free(context) }

    /// The signature of `text`: 64 lower-case hexadecimal digits.
    package func signature(of text: String) -> String { Hexadecimal.text(digest(text)) }

    /// The signature of `bytes`: 64 lower-case hexadecimal digits.
    package func signature(of bytes: [UInt8]) -> String { Hexadecimal.text(digest(of: bytes)) }

    /// Whether `signature` is the lower-case hexadecimal signature of `text`, compared in constant time.
    package func verifies(_ signature: Substring, of text: String) -> Bool {
        var (signature, text) = (signature, text)
        return signature.withUTF8 { signature in
            text.withUTF8 { verifies(UnsafeRawBufferPointer(signature), of: UnsafeRawBufferPointer($0)) }
        }
    }

    /// Whether `signature` is the lower-case hexadecimal signature of `bytes`, compared in constant time. Allocates
    /// nothing.
    package func verifies(_ signature: UnsafeRawBufferPointer, of bytes: UnsafeRawBufferPointer) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 96) { scratch in
            let digest = UnsafeMutableBufferPointer(rebasing: scratch[..<32])
            let expected = UnsafeMutableBufferPointer(rebasing: scratch[32...])
            write(digestOf: bytes.assumingMemoryBound(to: UInt8.self), to: digest.baseAddress)
            Hexadecimal.write(digest, to: expected)
            return signature.count == expected.count
                && CRYPTO_memcmp(signature.baseAddress, expected.baseAddress, expected.count) == 0
        }
    }

    /// The digest of `bytes`: 32 bytes.
    package func digest(of bytes: [UInt8]) -> [UInt8] { bytes.withUnsafeBufferPointer(digest) }

    /// Whether `digest` is the digest of `bytes`, compared in constant time.
    package func verifies(digest: [UInt8], of bytes: [UInt8]) -> Bool {
        ConstantTime.equal(digest, self.digest(of: bytes))
    }

    private func digest(_ text: String) -> [UInt8] {
        var text = text
        return text.withUTF8(digest)
    }

    private func digest(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            write(digestOf: bytes, to: buffer.baseAddress)
            count = 32
        }
    }

    /// - Parameter digest: memory for 32 bytes.
    private func write(digestOf bytes: UnsafeBufferPointer<UInt8>, to digest: UnsafeMutablePointer<UInt8>?) {
        var count = 0
        let done =
            EVP_MAC_init(context, nil, 0, nil) == 1
            && EVP_MAC_update(context, bytes.baseAddress, bytes.count) == 1
            && EVP_MAC_final(context, digest, &count, 32) == 1
        precondition(done && count == 32, "EVP_MAC failed to compute an HMAC-SHA256 digest")
    }
}

/// Comparisons whose duration does not depend on the position of the first difference.
package enum ConstantTime {
    /// Whether two strings have the same UTF-8 bytes. Timing reveals at most whether their lengths differ.
    package static func equal(_ one: String, _ other: String) -> Bool {
        equal(Array(one.utf8), Array(other.utf8))
    }

    /// Whether two byte strings are equal. Timing reveals at most whether their lengths differ.
    package static func equal(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
    }
}
