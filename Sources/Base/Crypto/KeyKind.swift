import COpenSSL

/// Why a cryptographic key cannot be used. The text is printed after a configuration key and a colon, and contains no
/// part of the cryptographic key.
package struct KeyError: Error, Equatable, CustomStringConvertible {
    package let description: String
}

/// The kinds of keys. Each kind has one signature algorithm, so a token cannot choose another: RS256 (RSASSA-PKCS1-v1_5
/// with SHA-256) for RSA, ES256 (ECDSA with SHA-256) for P-256.
package enum KeyKind: Equatable, Sendable {
    case rsa, p256

    /// RS256 requires at least 2,048 bits (RFC 7518 section 3.3). With more bits than the maximum, each verification
    /// takes too long.
    private static let (rsaBitsMin, rsaBitsMax) = (2048, 8192)

    /// - Parameter key: an `EVP_PKEY`.
    /// - Throws: ``KeyError`` unless the key is RSA of 2,048 to 8,192 bits, or EC on the curve P-256.
    init(of key: OpaquePointer) throws(KeyError) {
        if EVP_PKEY_is_a(key, "RSA") == 1 {
            let bits = Int(EVP_PKEY_get_bits(key))
            guard bits >= Self.rsaBitsMin, bits <= Self.rsaBitsMax else {
                throw KeyError(description: "an RSA key of \(bits) bits: expected \(Self.rsaBitsMin) to \(Self.rsaBitsMax)")
            }
            self = .rsa
            return
        }
        let name = EVP_PKEY_get0_type_name(key).map { String(cString: $0) } ?? "unknown"
        guard EVP_PKEY_is_a(key, "EC") == 1 else {
            throw KeyError(description: "a key of the type \(name): expected RSA, or EC on the curve P-256")
        }
        var curve = [CChar](repeating: 0, count: 80)
        var length = 0
        let isNamed = EVP_PKEY_get_group_name(key, &curve, curve.count, &length) == 1
        let curveName = String(decoding: curve.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard isNamed, curveName == "prime256v1" else {
            throw KeyError(description: "an EC key on \(isNamed ? curveName : "an unnamed curve"): expected the curve P-256")
        }
        self = .p256
    }
}
