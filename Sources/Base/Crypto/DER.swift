/// A DER (X.690) encoder for public keys and signatures: JOSE transmits them as bare numbers, and OpenSSL expects DER.
enum DER {
    static func sequence(_ parts: [UInt8]...) -> [UInt8] { element(0x30, Array(parts.joined())) }

    /// - Parameter magnitude: a non-negative number, big-endian; leading zeros are allowed.
    static func integer(_ magnitude: some Collection<UInt8>) -> [UInt8] {
        var bytes = Array(magnitude.drop { $0 == 0 })
        // The first bit is the sign, so a leading zero byte keeps the number positive.
        if bytes.isEmpty || bytes[0] >= 0x80 { bytes.insert(0, at: 0) }
        return element(0x02, bytes)
    }

    /// A bit string of whole bytes.
    static func bitString(_ bytes: [UInt8]) -> [UInt8] { element(0x03, [0] + bytes) }  // 0: no unused bits

    /// SubjectPublicKeyInfo (RFC 5280) of a PKCS #1 RSA public key.
    static func subjectPublicKeyInfo(rsa key: [UInt8]) -> [UInt8] {
        // 1.2.840.113549.1.1.1, rsaEncryption, with NULL parameters.
        let algorithm: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00]
        return sequence(sequence(algorithm), bitString(key))
    }

    /// SubjectPublicKeyInfo (RFC 5280) of a point on P-256.
    static func subjectPublicKeyInfo(p256 point: [UInt8]) -> [UInt8] {
        // 1.2.840.10045.2.1, id-ecPublicKey, and 1.2.840.10045.3.1.7, prime256v1.
        let algorithm: [UInt8] = [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
        let curve: [UInt8] = [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        return sequence(sequence(algorithm, curve), bitString(point))
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag] + length(content.count) + content }

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        var bytes: [UInt8] = []
        var rest = count
        while rest > 0 {
            bytes.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(bytes.count)] + bytes
    }
}
