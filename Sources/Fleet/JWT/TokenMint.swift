import Access
import Crypto
import JSON

/// Creates tokens, signed with the secret that verifies them: for development, and for customers who sign in by code.
package enum TokenMint {
    /// An HS256 token for `identity`.
    /// - Parameters:
    ///   - secret: must not be empty.
    ///   - issuer: `iss`. If it is empty, the token has no `iss`.
    ///   - audience: `aud`. If it is empty, the token has no `aud`.
    ///   - id: `jti`; nil for a token without it.
    ///   - issuedAt: `iat`, in seconds since 1970.
    ///   - lifetimeSeconds: `exp` minus `iat`. If `exp` would overflow, it is the largest Int64.
    package static func token(
        for identity: Identity, secret: String, issuer: String = "", audience: String = "", id: String? = nil,
        issuedAt: Int64, lifetimeSeconds: Int64
    ) -> String {
        let claims = payload(identity, issuer, audience, id, issuedAt, lifetimeSeconds)
        return JWT.signed(claims: claims, with: .secret(secret))
    }

    private static func payload(
        _ identity: Identity, _ issuer: String, _ audience: String, _ id: String?, _ issuedAt: Int64,
        _ lifetimeSeconds: Int64
    ) -> [UInt8] {
        let (expiry, overflow) = issuedAt.addingReportingOverflow(lifetimeSeconds)
        var json = JSONWriter()
        json.object {
            $0.member("sub", identity.id)
            $0.member("role", identity.role.rawValue)
            $0.member("name", ifPresent: identity.name)
            if identity.role == .customer { $0.member("bookings", identity.bookings) }
            if !issuer.isEmpty { $0.member("iss", issuer) }
            if !audience.isEmpty { $0.member("aud", audience) }
            $0.member("iat", issuedAt)
            $0.member("exp", overflow ? .max : expiry)
            $0.member("jti", ifPresent: id)
        }
        return json.bytes
    }
}
