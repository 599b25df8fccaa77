import COpenSSL

/// Why something is no private key that we take, readable after "the key: ". Nothing of the key is in it.
package struct PrivateKeyError: Error, Equatable, CustomStringConvertible {
    package let description: String
}

/// Our own private key, which signs what we say to others: RSA of 2,048 to 8,192 bits, or one of the curve P-256.
///
/// How it signs follows from what it is, as with ``PublicKey``: RS256 for RSA (Google's service accounts), ES256 for P-256
/// (Apple's .p8 files).
package final class PrivateKey: @unchecked Sendable {  // the EVP_PKEY never changes, and OpenSSL lets threads share one
    package typealias Kind = PublicKey.Kind

    package let kind: Kind
    private let handle: OpaquePointer

    /// As for public keys.
    private static let (rsaBitsMin, rsaBitsMax) = (2048, 8192)

    /// Reads the first block of a PEM text: `PRIVATE KEY` (PKCS #8), `EC PRIVATE KEY` (SEC 1) or `RSA PRIVATE KEY`
    /// (PKCS #1), none of them protected by a passphrase.
    package init(pem: String) throws(PrivateKeyError) {
        let block: PEMBlock
        do throws(PublicKeyError) {
            block = try PEMBlock(pem)
        } catch {
            throw PrivateKeyError(description: error.description)
        }
        let read = try Self.handle(label: block.label, der: block.bytes)
        ERR_clear_error()  // what failed is told by nil; nobody reads the thread's list of errors
        guard let read else {
            // Protected the old way, a block has the name of an open one, and a header that says so (RFC 1421).
            throw PrivateKeyError(
                description: pem.contains("Proc-Type: 4,ENCRYPTED") ? Self.locked : "not a key that OpenSSL can read")
        }
        handle = read
        do throws(PrivateKeyError) {
            kind = try Self.kind(of: read)
        } catch {
            EVP_PKEY_free(read)
            throw error
        }
        guard fits() else { throw PrivateKeyError(description: "a private key whose numbers do not belong together") }
    }

    deinit { EVP_PKEY_free(handle) }

    /// The signature of `message` as JOSE writes it: of RSA as many bytes as the modulus, of P-256 r and s, 32 each
    /// (RFC 7518 section 3.4). Of P-256 each is different.
    package func signature(of message: [UInt8]) -> [UInt8] {
        guard let signature = sign(message) else { preconditionFailure("EVP_DigestSign: failed with a key that had signed") }
        return signature
    }

    private static let locked = "protected by a passphrase, and there is nobody to ask: store it without one"

    /// Of the functions that read private keys only those that never ask the terminal for a passphrase.
    private static func handle(label: String, der: [UInt8]) throws(PrivateKeyError) -> OpaquePointer? {
        switch label {
        case "PRIVATE KEY": return withNext(der, pkcs8)
        case "EC PRIVATE KEY": return withNext(der) { d2i_PrivateKey(EVP_PKEY_EC, nil, &$0, $1) }
        case "RSA PRIVATE KEY": return withNext(der) { d2i_PrivateKey(EVP_PKEY_RSA, nil, &$0, $1) }
        case "ENCRYPTED PRIVATE KEY": throw PrivateKeyError(description: locked)
        case _ where label.hasSuffix("PUBLIC KEY") || label.hasSuffix("CERTIFICATE"):
            throw PrivateKeyError(description: "found \(label), where the private key belongs")
        default:
            throw PrivateKeyError(
                description: "expected PRIVATE KEY, EC PRIVATE KEY or RSA PRIVATE KEY after BEGIN, found \(label)")
        }
    }

    private static func pkcs8(_ next: inout UnsafePointer<UInt8>?, _ count: Int) -> OpaquePointer? {
        guard let envelope = d2i_PKCS8_PRIV_KEY_INFO(nil, &next, count) else { return nil }
        defer { PKCS8_PRIV_KEY_INFO_free(envelope) }
        return EVP_PKCS82PKEY(envelope)
    }

    private static func withNext(
        _ der: [UInt8], _ read: (inout UnsafePointer<UInt8>?, Int) -> OpaquePointer?
    ) -> OpaquePointer? {
        der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return read(&next, bytes.count)
        }
    }

    private static func kind(of handle: OpaquePointer) throws(PrivateKeyError) -> Kind {
        let bits = Int(EVP_PKEY_get_bits(handle))
        if EVP_PKEY_is_a(handle, "RSA") == 1 {
            guard bits >= rsaBitsMin, bits <= rsaBitsMax else {
                throw PrivateKeyError(description: "an RSA key of \(bits) bits: expected \(rsaBitsMin) to \(rsaBitsMax)")
            }
            return .rsa
        }
        let name = EVP_PKEY_get0_type_name(handle).map { String(cString: $0) } ?? "unknown"
        guard EVP_PKEY_is_a(handle, "EC") == 1 else {
            throw PrivateKeyError(description: "a key of the kind \(name): expected RSA, or the curve P-256")
        }
        var curve = [CChar](repeating: 0, count: 80)
        var length = 0
        let isNamed = EVP_PKEY_get_group_name(handle, &curve, curve.count, &length) == 1
        let curveName = String(decoding: curve.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard isNamed, curveName == "prime256v1" else {
            throw PrivateKeyError(description: "a key of the curve \(isNamed ? curveName : "without a name"): expected P-256")
        }
        return .p256
    }

    /// Whether the public half verifies what the private one signs: a damaged file is found when it is read, and no
    /// signature fails afterwards.
    private func fits() -> Bool {
        let text: [UInt8] = [1]
        defer { ERR_clear_error() }
        guard let signature = digestSign(text), sign(text) != nil, let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle) == 1
            && EVP_DigestVerify(context, signature, signature.count, text, text.count) == 1
    }

    private func sign(_ message: [UInt8]) -> [UInt8]? {
        guard let signature = digestSign(message) else { return nil }
        return kind == .rsa ? signature : Self.numbers(ofDER: signature)
    }

    /// As OpenSSL writes it: ECDSA's numbers as DER.
    private func digestSign(_ message: [UInt8]) -> [UInt8]? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, handle) == 1 else { return nil }
        let capacity = Int(EVP_PKEY_get_size(handle))
        let signature = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            count = capacity
            if EVP_DigestSign(context, buffer.baseAddress, &count, message, message.count) != 1 { count = 0 }
        }
        return signature.isEmpty ? nil : signature
    }

    private static func numbers(ofDER signature: [UInt8]) -> [UInt8]? {
        let parts = withNext(signature) { d2i_ECDSA_SIG(nil, &$0, $1) }
        guard let parts else { return nil }
        defer { ECDSA_SIG_free(parts) }
        return [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            guard let base = buffer.baseAddress else { return }
            let isWhole =
                BN_bn2binpad(ECDSA_SIG_get0_r(parts), base, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(parts), base + 32, 32) == 32
            precondition(isWhole, "BN_bn2binpad: numbers of P-256 have 32 bytes")
            count = 64
        }
    }
}
