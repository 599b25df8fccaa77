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

    /// The string itself, or a digest if it has more than 64 bytes or a character that is not printable ASCII. Push
    /// providers limit a collapse id to this (Apple, "Sending notification requests to APNs").
    package static func collapseID(of text: String) -> String {
        let fits = (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        return fits ? text : "sha256:\(digits(of: text))"
    }

    /// The same digits in the form of a UUID, 8-4-4-4-12.
    package static func uuid(of text: String) -> String {
        var uuid = Array(digits(of: text).utf8)
        for position in [20, 16, 12, 8] { uuid.insert(UInt8(ascii: "-"), at: position) }
        return String(decoding: uuid, as: UTF8.self)
    }
}

/// Hexadecimal, which Pusher writes in lower case.
package enum Hexadecimal {
    /// The number that 32 digits of either case write; nil for any other text. This runs twice for every publish.
    package static func number(_ digits: UnsafeRawBufferPointer) -> UInt128? {
        guard digits.count == 32 else { return nil }
        var number: UInt128 = 0
        for offset in stride(from: 0, to: 32, by: 8) {
            let word = UInt64(bigEndian: digits.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            guard let value = value(of: word) else { return nil }
            number = number << 32 | UInt128(value)
        }
        return number
    }

    /// The number that eight digits write, one in each byte, the first in the highest. Nil if one is no digit. All eight
    /// are converted at the same time.
    private static func value(of digits: UInt64) -> UInt64? {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let letters = digits >> 6 & ones  // 1 in the bytes that have a letter
        let lowered = digits | letters << 5
        var values = (digits & (ones &* 0x0F)) &+ letters &* 9
        // No byte is above 24, so what follows cannot carry. Writing the values again finds bytes that are no digits.
        let overTen = (values &+ ones &* 6) >> 4 & ones
        guard values & (ones &* 0xF0) == 0, values &+ ones &* 0x30 &+ overTen &* 0x27 == lowered else { return nil }
        values = (values | values >> 4) & 0x00FF_00FF_00FF_00FF
        values = (values | values >> 8) & 0x0000_FFFF_0000_FFFF
        return (values | values >> 16) & 0xFFFF_FFFF
    }

    package static func text(_ bytes: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            write(bytes, to: text)
            return bytes.count * 2
        }
    }

    /// - Parameter text: memory for two digits per byte.
    static func write(_ bytes: some Sequence<UInt8>, to text: UnsafeMutableBufferPointer<UInt8>) {
        var index = 0
        for byte in bytes {
            text[index] = digit(byte >> 4)
            text[index + 1] = digit(byte & 15)
            index += 2
        }
    }

    /// - Parameter value: 0 to 15.
    private static func digit(_ value: UInt8) -> UInt8 {
        value &+ (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
    }
}
