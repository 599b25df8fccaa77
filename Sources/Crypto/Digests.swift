import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The digest: 32 bytes.
    package static func digest(of bytes: [UInt8]) -> [UInt8] { Digest.compute(Digest.sha256, byteCount: 32, of: bytes) }
}

/// SHA-1 (FIPS 180-4). The opening handshake of WebSocket requires it (RFC 6455 section 4.2.2). Do not use SHA-1 for
/// anything else.
package enum SHA1 {
    /// The digest: 20 bytes.
    package static func digest(of bytes: [UInt8]) -> [UInt8] { Digest.compute(Digest.sha1, byteCount: 20, of: bytes) }
}

private enum Digest {
    // Fetched once: with `EVP_sha1()`, OpenSSL looks the implementation up at each use.
    nonisolated(unsafe) static let sha1 = EVP_MD_fetch(nil, "SHA1", nil)  // OpenSSL never changes an EVP_MD
    nonisolated(unsafe) static let sha256 = EVP_MD_fetch(nil, "SHA256", nil)  // OpenSSL never changes an EVP_MD

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
        withUnsafeBytes(of: digest(of: bytes).bigEndian) { Hexadecimal.text(Array($0)) }
    }

    /// The digest as a number: its first byte is the most significant one. Allocates nothing.
    package func digest(of bytes: UnsafeRawBufferPointer) -> UInt128 {
        var digest: UInt128 = 0
        withUnsafeMutableBytes(of: &digest) { digest in
            let done =
                EVP_DigestInit_ex(context, algorithm, nil) == 1
                && EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
                && EVP_DigestFinal_ex(context, digest.baseAddress, nil) == 1
            precondition(done, "EVP_Digest failed to compute an MD5 digest")
        }
        return UInt128(bigEndian: digest)
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
package enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    /// The number that 32 digits of either case write. Nil for any other text.
    package static func number(_ digits: UnsafeRawBufferPointer) -> UInt128? {
        guard digits.count == 32 else { return nil }
        var number: UInt128 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt128(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt128(digit - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): number = number << 4 | UInt128(digit - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        return number
    }

    static func text(_ bytes: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            write(bytes, to: text)
            return bytes.count * 2
        }
    }

    /// - Parameter text: memory for two digits per byte.
    static func write(_ bytes: some Sequence<UInt8>, to text: UnsafeMutableBufferPointer<UInt8>) {
        var index = 0
        for byte in bytes {
            text[index] = digits[Int(byte >> 4)]
            text[index + 1] = digits[Int(byte & 15)]
            index += 2
        }
    }
}
