import Access
import Crypto
import JSON

/// Creates tokens for development, signed with the secret that verifies them.
package enum TokenMint {
    /// An HS256 token for `identity`.
    /// - Parameters:
    ///   - secret: must not be empty.
    ///   - issuer: `iss`; omitted if empty. Likewise `audience`.
    ///   - issuedAt: seconds since 1970.
    package static func token(
        for identity: Identity, secret: String, issuer: String = "", audience: String = "", issuedAt: Int64,
        lifetimeSeconds: Int64
    ) -> String {
        let claims = payload(identity, issuer, audience, issuedAt, lifetimeSeconds)
        return JWT.signed(claims: claims, with: .secret(secret))
    }

    private static func payload(
        _ identity: Identity, _ issuer: String, _ audience: String, _ issuedAt: Int64, _ lifetimeSeconds: Int64
    ) -> [UInt8] {
        let (expiry, overflow) = issuedAt.addingReportingOverflow(lifetimeSeconds)
        var json = JSONWriter()
        json.raw(#"{"sub":"#)
        json.string(identity.id)
        json.raw(#","role":"#)
        json.string(identity.role.rawValue)
        if let name = identity.name {
            json.raw(#","name":"#)
            json.string(name)
        }
        if identity.role == .customer {
            json.raw(#","bookings":["#)
            for (index, reference) in identity.bookings.enumerated() {
                if index > 0 { json.raw(",") }
                json.string(reference)
            }
            json.raw("]")
        }
        if !issuer.isEmpty {
            json.raw(#","iss":"#)
            json.string(issuer)
        }
        if !audience.isEmpty {
            json.raw(#","aud":"#)
            json.string(audience)
        }
        json.raw(#","iat":"#)
        json.integer(issuedAt)
        json.raw(#","exp":"#)
        json.integer(overflow ? .max : expiry)
        json.raw("}")
        return json.bytes
    }
}
