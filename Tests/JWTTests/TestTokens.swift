import Access
import Crypto
import JWT
import TestSupport
import Testing

/// Builds HS256 tokens, valid or invalid, and verifies tokens.
enum TestTokens {
    static let now = TestKeys.now
    static let secret = "0123456789abcdef0123456789abcdef"
    static let anyIssuer = TokenIssuer(algorithm: .hs256, keys: .secret(secret))

    /// The claims of driver 42 as JSON, with changes: each is a claim and its new JSON value; nil removes the claim.
    static func claims(_ changes: [(String, String?)] = []) -> String {
        var members = [("sub", #""42""#), ("role", #""driver""#), ("exp", "\(now + 3600)")]
        for (name, value) in changes {
            members.removeAll { $0.0 == name }
            if let value { members.append((name, value)) }
        }
        return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    /// A token with a valid HS256 signature, whatever its header and payload are.
    static func token(
        _ payload: String = claims(), header: String = #"{"alg":"HS256","typ":"JWT"}"#, secret: String = secret
    ) -> String {
        token(bytes: Array(payload.utf8), header: Array(header.utf8), secret: secret)
    }

    static func token(bytes payload: [UInt8], header: [UInt8], secret: String = secret) -> String {
        signed(Base64URL.text(header) + "." + Base64URL.text(payload), secret: secret)
    }

    /// Appends a valid HS256 signature.
    static func signed(_ message: String, secret: String = secret) -> String {
        message + "." + Base64URL.text(HMACKey(secret: secret).digest(of: Array(message.utf8)))
    }

    /// Why `token` is refused; nil if it is valid or if the issuer's keys must be fetched first.
    static func refusal(
        _ token: String, _ issuers: [TokenIssuer] = [anyIssuer], now: Int64 = now
    ) throws -> String? {
        let verifier = try TokenVerifier(issuers: issuers, keyCache: IssuerKeyCache(issuers: issuers))
        switch verifier.verify(token, now: now) {
        case .refused(let reason), .expired(let reason), .withoutRole(let reason): return reason
        case .identity, .needsKey, .needsAnswer, .needsSetting: return nil
        }
    }

    /// The identity of `token`; nil if it is not valid.
    static func identity(
        _ token: String, _ issuers: [TokenIssuer] = [anyIssuer], now: Int64 = now
    ) throws -> Identity? {
        let verifier = try TokenVerifier(issuers: issuers, keyCache: IssuerKeyCache(issuers: issuers))
        guard case .identity(let identity) = verifier.verify(token, now: now) else { return nil }
        return identity
    }
}
