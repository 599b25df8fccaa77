import COpenSSL

/// MD5 (RFC 1321), which Pusher's REST signature uses to bind a body to its request. Not for secrets.
///
/// A context is reused, so an instance belongs to one thread.
package final class MD5 {
    private let context: OpaquePointer
    private let algorithm: OpaquePointer

    package init() {
        guard let context = EVP_MD_CTX_new(), let algorithm = EVP_MD_fetch(nil, "MD5", nil) else {
            preconditionFailure("EVP_MD_fetch: this OpenSSL has no MD5")
        }
        self.context = context
        self.algorithm = algorithm
    }

    deinit {
        EVP_MD_CTX_free(context)
        EVP_MD_free(algorithm)
    }

    /// 32 lower-case hexadecimal digits.
    package func hexadecimalDigest(of bytes: UnsafeRawBufferPointer) -> String {
        let digest = [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
            let done =
                EVP_DigestInit_ex(context, algorithm, nil) == 1
                && EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
                && EVP_DigestFinal_ex(context, buffer.baseAddress, nil) == 1
            precondition(done, "EVP_Digest: MD5 of bytes cannot fail")
            count = 16
        }
        return Hexadecimal.text(digest)
    }
}
