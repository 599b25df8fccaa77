import COpenSSL

/// A public key that verifies signatures: RSA or P-256. Its ``kind``, not the token, determines the signature
/// algorithm.
///
/// Threads may share it: OpenSSL allows that for an EVP_PKEY that does not change (openssl-threads(7)), and each
/// verification uses its own context.
package final class PublicKey: Equatable, @unchecked Sendable {  // the EVP_PKEY does not change; contexts are not shared
    /// The kind of the key.
    package let kind: KeyKind
    private let handle: OpaquePointer

    /// Reads the first block of a PEM file: `PUBLIC KEY`, `RSA PUBLIC KEY` or `CERTIFICATE`.
    ///
    /// Of a certificate, only the key is used. The certificate's signature and dates are not checked: the caller must
    /// trust the source of the file.
    /// - Throws: ``KeyError`` for anything else, and for keys that ``KeyKind`` rejects.
    package convenience init(pem: String) throws(KeyError) {
        let block = try PEMBlock(pem)
        switch block.label {
        case "PUBLIC KEY": try self.init(subjectPublicKeyInfo: block.bytes)
        case "RSA PUBLIC KEY": try self.init(subjectPublicKeyInfo: DER.subjectPublicKeyInfo(rsa: block.bytes))
        case "CERTIFICATE": try self.init(certificate: block.bytes)
        case let label where label.hasSuffix("PRIVATE KEY"):
            throw KeyError(description: "found a private key. Use its public key")
        default: throw KeyError(description: "expected PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE after BEGIN")
        }
    }

    /// An RSA key from its modulus and its public exponent, both as big-endian bytes.
    package convenience init(modulus: [UInt8], exponent: [UInt8]) throws(KeyError) {
        let key = DER.sequence(DER.integer(modulus), DER.integer(exponent))
        try self.init(subjectPublicKeyInfo: DER.subjectPublicKeyInfo(rsa: key))
    }

    /// A P-256 key from its coordinates, 32 bytes each.
    package convenience init(x: [UInt8], y: [UInt8]) throws(KeyError) {
        guard x.count == 32, y.count == 32 else {
            throw KeyError(description: "expected 32 bytes for each coordinate")
        }
        try self.init(subjectPublicKeyInfo: DER.subjectPublicKeyInfo(p256: [0x04] + x + y))  // 4: uncompressed point
    }

    private convenience init(subjectPublicKeyInfo der: [UInt8]) throws(KeyError) {
        let handle = der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return owned(d2i_PUBKEY(nil, &next, bytes.count), ending: next, of: bytes, free: EVP_PKEY_free)
        }
        try self.init(owning: handle)
    }

    private convenience init(certificate der: [UInt8]) throws(KeyError) {
        let certificate = der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return owned(d2i_X509(nil, &next, bytes.count), ending: next, of: bytes, free: X509_free)
        }
        defer { X509_free(certificate) }
        try self.init(owning: X509_get_pubkey(certificate))
    }

    private init(owning handle: OpaquePointer?) throws(KeyError) {
        ERR_clear_error()  // A nil result reports the failure, so the thread's OpenSSL error queue is not needed.
        guard let handle else { throw KeyError(description: "not a key that OpenSSL can read") }
        do throws(KeyError) {
            kind = try KeyKind(of: handle)
            guard kind != .rsa || Self.hasUsableExponent(handle) else {
                throw KeyError(description: "an RSA key whose public exponent is even or 1: expected an odd number of at least 3")
            }
        } catch {
            EVP_PKEY_free(handle)
            throw error
        }
        self.handle = handle
    }

    deinit { EVP_PKEY_free(handle) }

    package static func == (one: PublicKey, other: PublicKey) -> Bool {
        one.kind == other.kind && EVP_PKEY_eq(one.handle, other.handle) == 1
    }

    /// Whether the owner of the private key signed `bytes`.
    /// - Parameter signature: in JOSE's form; for P-256, r and s of 32 bytes each (RFC 7518 section 3.4).
    package func verifies(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
        var signature = signature
        if kind == .p256 {
            guard signature.count == 64 else { return false }
            signature = DER.sequence(DER.integer(signature[..<32]), DER.integer(signature[32...]))
        }
        guard let context = EVP_MD_CTX_new() else { preconditionFailure("EVP_MD_CTX_new failed: out of memory") }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle) == 1
            && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
    }

    /// Whether the public exponent is odd and not 1. With an exponent of 1, each padded digest would be its own
    /// signature.
    private static func hasUsableExponent(_ handle: OpaquePointer) -> Bool {
        var exponent: OpaquePointer?
        defer { BN_free(exponent) }
        return EVP_PKEY_get_bn_param(handle, "e", &exponent) == 1 && BN_is_odd(exponent) == 1 && BN_is_one(exponent) == 0
    }
}

/// Rejects DER with bytes after the object. `object` is the result of a `d2i_` function, which has read `bytes` up to
/// `end`. If `end` is not the end of `bytes`, frees the object and returns nil.
private func owned(
    _ object: OpaquePointer?, ending end: UnsafePointer<UInt8>?, of bytes: UnsafeBufferPointer<UInt8>,
    free: (OpaquePointer?) -> Void
) -> OpaquePointer? {
    if let base = bytes.baseAddress, end == base + bytes.count { return object }
    free(object)
    return nil
}
