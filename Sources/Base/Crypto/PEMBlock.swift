import COpenSSL

/// The first block of a PEM file (RFC 7468): the label of its BEGIN line and its bytes.
///
/// An encrypted block is not decrypted. This is why OpenSSL's own functions for keys in PEM are not used: they would
/// ask the terminal for the passphrase.
struct PEMBlock {
    /// For example `PUBLIC KEY`.
    let label: String
    /// The decoded content, usually DER.
    let bytes: [UInt8]

    /// - Throws: ``KeyError`` if `text` contains no PEM block.
    init(_ text: String) throws(KeyError) {
        var (name, header): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
        var data: UnsafeMutablePointer<UInt8>?
        var count = 0
        let source = Array(text.utf8)
        let isRead = source.withUnsafeBytes { bytes in
            guard bytes.count <= Int32.max, let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return false }
            defer { BIO_free(bio) }
            return PEM_read_bio(bio, &name, &header, &data, &count) == 1
        }
        defer {
            copenssl_free(name)
            copenssl_free(header)
            copenssl_free(data)
            ERR_clear_error()
        }
        guard isRead, let name, let data else {
            throw KeyError(description: "expected PEM, from -----BEGIN …----- to -----END …-----")
        }
        label = String(cString: name)
        bytes = Array(UnsafeBufferPointer(start: data, count: count))
    }
}
