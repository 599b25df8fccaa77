import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The 32 bytes of the digest.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            let done = EVP_Digest(bytes, bytes.count, buffer.baseAddress, nil, EVP_sha256(), nil)
            precondition(done == 1, "EVP_Digest: SHA-256 of bytes cannot fail")
            count = 32
        }
    }
}
