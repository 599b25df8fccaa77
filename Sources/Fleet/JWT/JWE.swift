import Crypto
import JSON
import Primitives

/// A JWE in compact form (RFC 7516 section 7.1) whose content is encrypted directly with a shared key (`dir`), parsed but
/// not verified.
///
/// Parsing never fails: what is wrong makes a value that no key opens, and that takes as long to refuse as a wrong tag.
/// So the time of a refusal does not tell what was wrong.
struct JWE {
    /// The ciphers of the content (RFC 7518 section 5.1).
    enum Cipher: String, CaseIterable {
        case aes256GCM = "A256GCM"
        case aes256CBCHMAC = "A256CBC-HS512"
    }

    /// The cipher that the header names. Nil: no key may open the content.
    let cipher: Cipher?
    /// The encoded header, which the tag covers.
    let authenticated: [UInt8]
    let vector: [UInt8]
    let ciphertext: [UInt8]
    let tag: [UInt8]

    private enum HeaderName: String, CaseIterable {
        case alg, enc, zip, crit
    }

    /// - Parameter value: at most ``JWT/bytesMax`` bytes are read; a longer value is not opened.
    init(_ value: String) {
        let bytes = value.withBytes { Array($0.prefix(JWT.bytesMax)) }
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 5, omittingEmptySubsequences: false)
        let decoded = parts.map { Base64URL.bytes($0) }
        guard value.utf8.count <= JWT.bytesMax, parts.count == 5, parts[1].isEmpty, let header = decoded[0],
            let vector = decoded[2], let ciphertext = decoded[3], let tag = decoded[4]
        else {
            (cipher, authenticated, vector, ciphertext, tag) = (nil, [], [], bytes, [])
            return
        }
        cipher = Self.cipher(header)
        authenticated = Array(parts[0])
        (self.vector, self.ciphertext, self.tag) = (vector, ciphertext, tag)
    }

    /// The cipher of a header without compression and without critical extensions. `kid` is ignored: it only names a key.
    private static func cipher(_ header: [UInt8]) -> Cipher? {
        guard let members = try? JSONMembers<HeaderName>(of: header), members[.zip] == nil, members[.crit] == nil,
            members[.alg] == .text("dir"), case .text(let name) = members[.enc]
        else { return nil }
        return Cipher.allCases.first { $0.rawValue.utf8.elementsEqual(name.utf8) }
    }
}

extension JWE.Cipher {
    /// - Parameter derive: derives so many bytes from the secret.
    func key(derive: (Int) -> [UInt8]) -> (any JWEKey)? {
        switch self {
        case .aes256GCM: AESGCMKey(derive(32))
        case .aes256CBCHMAC: AESCBCHMACKey(derive(AESCBCHMACKey.keyBytes))
        }
    }
}

/// A key that opens the content of a ``JWE``.
protocol JWEKey: Sendable {
    /// Decrypts the content. Returns nil if the tag is wrong or the JWE names another cipher. Computes the tag in any case.
    func open(_ jwe: JWE) -> [UInt8]?
}

extension AESGCMKey: JWEKey {
    func open(_ jwe: JWE) -> [UInt8]? {
        let isWhole = jwe.vector.count == Self.nonceBytes && jwe.tag.count == Self.tagBytes
        let vector = isWhole ? jwe.vector : [UInt8](repeating: 0, count: Self.nonceBytes)
        let tag = isWhole ? jwe.tag : [UInt8](repeating: 0, count: Self.tagBytes)
        let content = open(vector + jwe.ciphertext + tag, authenticating: jwe.authenticated)
        return isWhole && jwe.cipher == .aes256GCM ? content : nil
    }
}

extension AESCBCHMACKey: JWEKey {
    func open(_ jwe: JWE) -> [UInt8]? {
        let isWhole = jwe.vector.count == Self.vectorBytes
        let vector = isWhole ? jwe.vector : [UInt8](repeating: 0, count: Self.vectorBytes)
        let content = open(jwe.ciphertext, vector: vector, tag: jwe.tag, authenticating: jwe.authenticated)
        return isWhole && jwe.cipher == .aes256CBCHMAC ? content : nil
    }
}
