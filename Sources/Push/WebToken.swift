import Crypto
import JSON

/// Signs what we say of ourselves as a JSON Web Token (RFC 7515, RFC 7519).
enum WebToken {
    /// - Parameters:
    ///   - claims: a JSON object.
    ///   - keyID: `kid`, by which its reader finds our public key.
    /// - Returns: header, claims and signature in base64url, with dots between; ES256 or RS256, as the key is.
    static func text(claims: [UInt8], keyID: String, key: PrivateKey) -> String {
        var header = JSONWriter(capacity: 96)
        header.raw(key.kind == .p256 ? #"{"alg":"ES256","typ":"JWT","kid":"# : #"{"alg":"RS256","typ":"JWT","kid":"#)
        header.string(keyID)
        header.raw("}")
        let signed = Base64URL.text(header.bytes) + "." + Base64URL.text(claims)
        return signed + "." + Base64URL.text(key.signature(of: Array(signed.utf8)))
    }
}
