import Access
import Crypto
import JWT
import TestSupport
import Testing

/// Tokens made by hand, true or hostile, and verifiers of them.
enum TestTokens {
    static let now = TestKeys.now
    static let secret = "0123456789abcdef0123456789abcdef"
    static let anyIssuer = TokenIssuer(algorithm: .hs256, keys: .secret(secret))

    /// Claims that make driver 42, but for those given: JSON to replace one, nil to leave it out.
    static func claims(_ changes: [(String, String?)] = []) -> String {
        var members = [("sub", #""42""#), ("role", #""driver""#), ("exp", "\(now + 3600)")]
        for (name, value) in changes {
            members.removeAll { $0.0 == name }
            if let value { members.append((name, value)) }
        }
        return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    /// A genuine HS256 signature over whatever is given.
    static func token(
        _ payload: String = claims(), header: String = #"{"alg":"HS256","typ":"JWT"}"#, secret: String = secret
    ) -> String {
        token(bytes: Array(payload.utf8), header: Array(header.utf8), secret: secret)
    }

    static func token(bytes payload: [UInt8], header: [UInt8], secret: String = secret) -> String {
        signed(Base64URL.text(header) + "." + Base64URL.text(payload), secret: secret)
    }

    static func signed(_ text: String, secret: String = secret) -> String {
        text + "." + Base64URL.text(HMACKey(secret: secret).digest(of: Array(text.utf8)))
    }

    /// The words `token` is refused with; nil when it is not.
    static func refusal(
        _ token: String, _ issuers: [TokenIssuer] = [anyIssuer], now: Int64 = now
    ) throws -> String? {
        let verifier = try TokenVerifier(issuers: issuers, keyCache: IssuerKeyCache(issuers: issuers))
        guard case .refused(let words) = verifier.verify(on: token, now: now) else { return nil }
        return words
    }

    /// Whom `token` makes; nil when it is refused.
    static func identity(
        _ token: String, _ issuers: [TokenIssuer] = [anyIssuer], now: Int64 = now
    ) throws -> Identity? {
        let verifier = try TokenVerifier(issuers: issuers, keyCache: IssuerKeyCache(issuers: issuers))
        guard case .identity(let identity) = verifier.verify(on: token, now: now) else { return nil }
        return identity
    }
}
