import Crypto
import JSON

/// The key that signs a token. It determines the token's algorithm.
package enum JWTKey: Sendable {
    /// HS256, for development tokens.
    case secret(String)
    /// ES256 for a P-256 key, RS256 for an RSA key. `id` is the header's `kid`, by which the verifier selects the
    /// public key.
    case privateKey(PrivateKey, id: String)
}

extension JWT {
    /// Signs claims as a JSON Web Token (RFC 7515, RFC 7519).
    /// - Parameter claims: a JSON object.
    /// - Returns: header, claims and signature in base64url, separated by dots.
    package static func signed(claims: [UInt8], with key: JWTKey) -> String {
        let message = Base64URL.text(header(for: key)) + "." + Base64URL.text(claims)
        let signature =
            switch key {
            case .secret(let secret): HMACKey(secret: secret).digest(of: Array(message.utf8))
            case .privateKey(let key, _): key.signature(of: Array(message.utf8))
            }
        return message + "." + Base64URL.text(signature)
    }

    private static func header(for key: JWTKey) -> [UInt8] {
        guard case .privateKey(let key, let id) = key else { return Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8) }
        var header = JSONWriter(capacity: 96)
        header.object {
            $0.member("alg", key.kind == .p256 ? "ES256" : "RS256")
            $0.member("typ", "JWT")
            $0.member("kid", id)
        }
        return header.bytes
    }
}
