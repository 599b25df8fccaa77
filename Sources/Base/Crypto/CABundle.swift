import COpenSSL

/// A PEM file of trusted certificate authorities.
package enum CABundle {
    /// Whether `pem` contains at least one certificate, and no block that OpenSSL cannot read.
    ///
    /// OpenSSL reads the file with the same function when it opens a connection (X509_load_cert_crl_file(3)). The
    /// operator should see an error earlier than that, so the file is also checked when the configuration is read.
    package static func isReadable(_ pem: String) -> Bool {
        let source = Array(pem.utf8)
        let blocks = source.withUnsafeBytes { bytes -> OpaquePointer? in
            guard bytes.count <= Int32.max, let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            // The callback rejects encrypted blocks. Without it, OpenSSL would ask the terminal for a passphrase.
            return PEM_X509_INFO_read_bio(bio, nil, { _, _, _, _ in -1 }, nil)
        }
        defer { ERR_clear_error() }
        guard let blocks else { return false }
        defer { OPENSSL_sk_free(blocks) }
        var hasCertificate = false
        while let block = OPENSSL_sk_pop(blocks)?.assumingMemoryBound(to: X509_INFO.self) {
            if block.pointee.x509 != nil { hasCertificate = true }
            X509_INFO_free(block)
        }
        return hasCertificate
    }
}
