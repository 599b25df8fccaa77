import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The digest: 32 bytes.
    package static func digest(of bytes: [UInt8]) -> [UInt8] { Digest.compute(EVP_sha256(), byteCount: 32, of: bytes) }
}

/// SHA-1 (FIPS 180-4). The opening handshake of WebSocket requires it (RFC 6455 section 4.2.2). Do not use SHA-1 for
/// anything else.
package enum SHA1 {
    /// The digest: 20 bytes.
    package static func digest(of bytes: [UInt8]) -> [UInt8] { Digest.compute(EVP_sha1(), byteCount: 20, of: bytes) }
}

private enum Digest {
    static func compute(_ algorithm: OpaquePointer?, byteCount: Int, of bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            let done = EVP_Digest(bytes, bytes.count, buffer.baseAddress, nil, algorithm, nil)
            precondition(done == 1, "EVP_Digest failed: this OpenSSL lacks the algorithm")
            count = byteCount
        }
    }
}

/// MD5 (RFC 1321). Pusher's REST signature covers the MD5 digest of the request's body. Do not use MD5 for secrets.
///
/// The context is reused, so an instance belongs to one thread.
package final class MD5 {
    private let context: OpaquePointer
    private let algorithm: OpaquePointer

    /// Creates an instance for one thread.
    package init() {
        guard let context = EVP_MD_CTX_new(), let algorithm = EVP_MD_fetch(nil, "MD5", nil) else {
            preconditionFailure("EVP_MD_fetch failed: this OpenSSL has no MD5")
        }
        self.context = context
        self.algorithm = algorithm
    }

    deinit {
        EVP_MD_CTX_free(context)
        EVP_MD_free(algorithm)
    }

    /// The digest: 32 lower-case hexadecimal digits.
    package func hexadecimalDigest(of bytes: UnsafeRawBufferPointer) -> String {
        let digest = [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
            let done =
                EVP_DigestInit_ex(context, algorithm, nil) == 1
                && EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
                && EVP_DigestFinal_ex(context, buffer.baseAddress, nil) == 1
            precondition(done, "EVP_Digest failed to compute an MD5 digest")
            count = 16
        }
        return Hexadecimal.text(digest)
    }
}

/// Ids derived from strings. The same string always gives the same id, even after a restart.
package enum StableID {
    /// The first half of the string's SHA-256: 32 lower-case hexadecimal digits.
    package static func digits(of text: String) -> String {
        Hexadecimal.text(Array(SHA256.digest(of: Array(text.utf8)).prefix(16)))
    }

    /// The same digits in the form of a UUID, 8-4-4-4-12.
    package static func uuid(of text: String) -> String {
        var uuid = Array(digits(of: text).utf8)
        for position in [20, 16, 12, 8] { uuid.insert(UInt8(ascii: "-"), at: position) }
        return String(decoding: uuid, as: UTF8.self)
    }
}

/// Lower-case hexadecimal, as Pusher writes digests.
enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    static func text(_ bytes: [UInt8]) -> String { String(decoding: Self.bytes(bytes), as: UTF8.self) }

    static func bytes(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: bytes.count * 2) { buffer, count in
            for byte in bytes {
                buffer[count] = digits[Int(byte >> 4)]
                buffer[count + 1] = digits[Int(byte & 15)]
                count += 2
            }
        }
    }
}
