import COpenSSL

/// A private key that signs the gateway's requests: RSA (Google's service accounts) or P-256 (Apple's .p8 files).
/// ``kind`` determines the signature algorithm.
///
/// Threads may share it: OpenSSL allows that for an EVP_PKEY that does not change (openssl-threads(7)), and each
/// signature uses its own context.
package final class PrivateKey: @unchecked Sendable {  // the EVP_PKEY does not change; each signature has its own context
    /// The kind of the key.
    package let kind: KeyKind
    private let handle: OpaquePointer

    /// Reads the first block of a PEM file: `PRIVATE KEY` (PKCS #8), `EC PRIVATE KEY` (SEC 1) or `RSA PRIVATE KEY`
    /// (PKCS #1), without a passphrase.
    /// - Throws: ``KeyError`` for anything else, and for keys that ``KeyKind`` rejects.
    package init(pem: String) throws(KeyError) {
        let block = try PEMBlock(pem)
        let read = try Self.handle(label: block.label, der: block.bytes)
        ERR_clear_error()  // A nil result reports the failure, so the thread's OpenSSL error queue is not needed.
        guard let read else {
            // A block with PEM's own encryption (RFC 1421) has the label of an unencrypted key, and this header.
            throw KeyError(
                description: pem.contains("Proc-Type: 4,ENCRYPTED") ? Self.encrypted : "not a key that OpenSSL can read")
        }
        handle = read
        do throws(KeyError) {
            kind = try KeyKind(of: read)
        } catch {
            EVP_PKEY_free(read)
            throw error
        }
        guard isConsistent() else {
            throw KeyError(description: "the private key does not match the public key in the same file. Export the key again")
        }
    }

    deinit { EVP_PKEY_free(handle) }

    /// The signature of `message` in JOSE's form: for RSA, as many bytes as the modulus; for P-256, r and s of 32 bytes
    /// each (RFC 7518 section 3.4), different in each call.
    package func signature(of message: [UInt8]) -> [UInt8] {
        guard let signature = sign(message) else {
            preconditionFailure("EVP_DigestSign failed with a key that could sign when it was read")
        }
        return signature
    }

    private static let encrypted = "protected by a passphrase. Store the key without one"

    /// Reads a key in DER whose format `label` names; nil if OpenSSL cannot read it. Uses only functions that never ask
    /// the terminal for a passphrase.
    /// - Throws: ``KeyError`` if `label` is not that of an unencrypted private key.
    private static func handle(label: String, der: [UInt8]) throws(KeyError) -> OpaquePointer? {
        switch label {
        case "PRIVATE KEY": return withNext(der, pkcs8)
        case "EC PRIVATE KEY": return withNext(der) { d2i_PrivateKey(EVP_PKEY_EC, nil, &$0, $1) }
        case "RSA PRIVATE KEY": return withNext(der) { d2i_PrivateKey(EVP_PKEY_RSA, nil, &$0, $1) }
        case "ENCRYPTED PRIVATE KEY": throw KeyError(description: encrypted)
        case _ where label.hasSuffix("PUBLIC KEY") || label.hasSuffix("CERTIFICATE"):
            throw KeyError(description: "found \(label) instead of a private key")
        default:
            throw KeyError(
                description: "expected PRIVATE KEY, EC PRIVATE KEY or RSA PRIVATE KEY after BEGIN, found \(label)")
        }
    }

    private static func pkcs8(_ next: inout UnsafePointer<UInt8>?, _ count: Int) -> OpaquePointer? {
        guard let envelope = d2i_PKCS8_PRIV_KEY_INFO(nil, &next, count) else { return nil }
        defer { PKCS8_PRIV_KEY_INFO_free(envelope) }
        return EVP_PKCS82PKEY(envelope)
    }

    /// Calls `read`, an OpenSSL function whose name begins with `d2i_`, with a pointer to `der`. The function moves the
    /// pointer past the bytes that it has read.
    private static func withNext(
        _ der: [UInt8], _ read: (inout UnsafePointer<UInt8>?, Int) -> OpaquePointer?
    ) -> OpaquePointer? {
        der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return read(&next, bytes.count)
        }
    }

    /// Whether the public part verifies signatures by the private part. This check detects a damaged file when it is
    /// read, so that later signatures cannot fail.
    private func isConsistent() -> Bool {
        let message: [UInt8] = [1]
        defer { ERR_clear_error() }
        guard let signature = digestSign(message), sign(message) != nil, let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    private func sign(_ message: [UInt8]) -> [UInt8]? {
        guard let signature = digestSign(message) else { return nil }
        return kind == .rsa ? signature : Self.joseSignature(fromDER: signature)
    }

    /// The signature as OpenSSL returns it: for ECDSA, r and s in DER.
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

    /// Converts an ECDSA signature from DER to JOSE's form: r and s, 32 bytes each. Returns nil if the signature is not
    /// DER.
    private static func joseSignature(fromDER signature: [UInt8]) -> [UInt8]? {
        let parts = withNext(signature) { d2i_ECDSA_SIG(nil, &$0, $1) }
        guard let parts else { return nil }
        defer { ECDSA_SIG_free(parts) }
        return [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            guard let base = buffer.baseAddress else { return }
            let isWhole =
                BN_bn2binpad(ECDSA_SIG_get0_r(parts), base, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(parts), base + 32, 32) == 32
            precondition(isWhole, "BN_bn2binpad failed: r or s of a P-256 signature has more than 32 bytes")
            count = 64
        }
    }
}
