import COpenSSL

/// Why something is no public key that we take, readable after "the key: ".
package struct PublicKeyError: Error, Equatable, CustomStringConvertible {
    package let description: String
}

/// Somebody's public key, which tells whether he signed something: RSA of 2,048 to 8,192 bits, or a point of P-256.
///
/// What signatures it verifies follows from what it is, never from what a token says: RS256 (RSASSA-PKCS1-v1_5 with
/// SHA-256) for RSA, ES256 (ECDSA with SHA-256) for P-256.
///
/// OpenSSL lets threads share an EVP_PKEY that nobody changes (openssl-threads(7)), and here nobody does: each
/// verification has a context of its own.
package final class PublicKey: @unchecked Sendable {  // the EVP_PKEY never changes, and OpenSSL lets threads share one
    package enum Kind: Equatable, Sendable { case rsa, p256 }

    package let kind: Kind
    private let handle: OpaquePointer

    /// Below, a key can be broken in our days; beyond, each verification costs more than anybody needs.
    private static let (rsaBitsMin, rsaBitsMax) = (2048, 8192)

    /// Reads the first block of a PEM text: `PUBLIC KEY`, `RSA PUBLIC KEY` or `CERTIFICATE`.
    ///
    /// Of a certificate only the key counts: who fetched it trusts where it came from, and its dates are not looked at.
    package convenience init(pem: String) throws(PublicKeyError) {
        let block = try PEMBlock(pem)
        switch block.label {
        case "PUBLIC KEY": try self.init(subjectPublicKeyInfo: block.bytes)
        case "RSA PUBLIC KEY": try self.init(subjectPublicKeyInfo: DER.subjectPublicKeyInfo(rsa: block.bytes))
        case "CERTIFICATE": try self.init(certificate: block.bytes)
        case let label where label.hasSuffix("PRIVATE KEY"):
            throw PublicKeyError(description: "a private key, where its public key belongs")
        default: throw PublicKeyError(description: "expected PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE after BEGIN")
        }
    }

    /// An RSA key from its numbers, as big-endian bytes.
    package convenience init(modulus: [UInt8], exponent: [UInt8]) throws(PublicKeyError) {
        let key = DER.sequence(DER.integer(modulus), DER.integer(exponent))
        try self.init(subjectPublicKeyInfo: DER.subjectPublicKeyInfo(rsa: key))
    }

    /// A P-256 key from its coordinates, 32 bytes each.
    package convenience init(x: [UInt8], y: [UInt8]) throws(PublicKeyError) {
        guard x.count == 32, y.count == 32 else {
            throw PublicKeyError(description: "expected 32 bytes for each coordinate")
        }
        try self.init(subjectPublicKeyInfo: DER.subjectPublicKeyInfo(p256: [0x04] + x + y))  // 4: both coordinates follow
    }

    private convenience init(subjectPublicKeyInfo der: [UInt8]) throws(PublicKeyError) {
        let handle = der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return owned(d2i_PUBKEY(nil, &next, bytes.count), ending: next, of: bytes, free: EVP_PKEY_free)
        }
        try self.init(owning: handle)
    }

    private convenience init(certificate der: [UInt8]) throws(PublicKeyError) {
        let certificate = der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return owned(d2i_X509(nil, &next, bytes.count), ending: next, of: bytes, free: X509_free)
        }
        defer { X509_free(certificate) }
        try self.init(owning: X509_get_pubkey(certificate))
    }

    private init(owning handle: OpaquePointer?) throws(PublicKeyError) {
        ERR_clear_error()  // what failed is told by nil; nobody reads the thread's list of errors
        guard let handle else { throw PublicKeyError(description: "not a key that OpenSSL can read") }
        do throws(PublicKeyError) {
            kind = try Self.kind(of: handle)
        } catch {
            EVP_PKEY_free(handle)
            throw error
        }
        self.handle = handle
    }

    deinit { EVP_PKEY_free(handle) }

    /// Whether its owner signed `bytes`.
    /// - Parameter signature: as JOSE writes it; of P-256 that is r and s, 32 bytes each (RFC 7518 section 3.4).
    package func verifies(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
        var signature = signature
        if kind == .p256 {
            guard signature.count == 64 else { return false }
            signature = DER.sequence(DER.integer(signature[..<32]), DER.integer(signature[32...]))
        }
        guard let context = EVP_MD_CTX_new() else { preconditionFailure("EVP_MD_CTX_new: out of memory") }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle) == 1
            && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
    }

    private static func kind(of handle: OpaquePointer) throws(PublicKeyError) -> Kind {
        if EVP_PKEY_is_a(handle, "RSA") == 1 {
            let bits = Int(EVP_PKEY_get_bits(handle))
            guard bits >= rsaBitsMin, bits <= rsaBitsMax else {
                throw PublicKeyError(description: "an RSA key of \(bits) bits: expected \(rsaBitsMin) to \(rsaBitsMax)")
            }
            guard hasUsableExponent(handle) else { throw PublicKeyError(description: "an RSA exponent that is even or 1") }
            return .rsa
        }
        var curve = [CChar](repeating: 0, count: 80)
        var length = 0
        guard EVP_PKEY_is_a(handle, "EC") == 1,
            EVP_PKEY_get_group_name(handle, &curve, curve.count, &length) == 1,
            curve.prefix(length).elementsEqual("prime256v1".utf8.map { CChar($0) })
        else { throw PublicKeyError(description: "expected an RSA key, or one of the curve P-256") }
        return .p256
    }

    /// With an exponent of 1 anybody's text is its own signature.
    private static func hasUsableExponent(_ handle: OpaquePointer) -> Bool {
        var exponent: OpaquePointer?
        defer { BN_free(exponent) }
        return EVP_PKEY_get_bn_param(handle, "e", &exponent) == 1 && BN_is_odd(exponent) == 1 && BN_is_one(exponent) == 0
    }
}

/// What a d2i function made of `bytes`; nil, and freed, when something followed it that nobody looked at.
private func owned(
    _ object: OpaquePointer?, ending end: UnsafePointer<UInt8>?, of bytes: UnsafeBufferPointer<UInt8>,
    free: (OpaquePointer?) -> Void
) -> OpaquePointer? {
    if let base = bytes.baseAddress, end == base + bytes.count { return object }
    free(object)
    return nil
}
