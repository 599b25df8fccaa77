import COpenSSL

/// Authorities to trust in TLS, as a PEM file names them.
package enum CABundle {
    /// Whether `pem` has at least one certificate, and nothing that cannot be read.
    ///
    /// OpenSSL reads such a file by the same function when a connection is made (X509_load_cert_crl_file(3)), which is too late
    /// to tell an operator.
    package static func areReadable(in pem: String) -> Bool {
        let source = Array(pem.utf8)
        let blocks = source.withUnsafeBytes { bytes -> OpaquePointer? in
            guard bytes.count <= Int32.max, let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            // What is encrypted is not for here; without a callback the terminal would be asked for a password.
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
