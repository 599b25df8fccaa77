import Access
import PusherAPI

/// The errors of the fleet's API.
extension APIError {
    /// The response to a request that a rule rejects.
    package init(_ error: RuleError) {
        if error.kind == .unauthenticated {
            self = .unauthorized(error.text)
            return
        }
        self.init(
            error.status, error.text,
            headers: error.retryAfterSeconds.map { ["Retry-After": "\($0)"] } ?? [:],
            fields: error.fields.map { InvalidField(path: $0.path, text: $0.text) }, summary: error.summary,
            figures: error.figures.map { Figure($0.name, $0.value) })
    }

    /// 401. The header tells apps whether they only have to renew the token (RFC 6750 section 3).
    /// - Parameter isExpired: whether the token was valid until it expired.
    package static func unauthorized(_ text: String, isExpired: Bool = false) -> APIError {
        let reason = isExpired ? "expired" : "invalid"
        return APIError(
            401, text,
            headers: ["WWW-Authenticate": #"Bearer error="invalid_token", error_description="\#(reason)""#],
            summary: isExpired ? "Token expired" : nil)
    }

    /// 403: the token is valid, but its role may not use the path.
    static func wrongRole(_ role: Role, required roles: [Role]) -> APIError {
        let required = roles.map(\.rawValue).joined(separator: " or ")
        return APIError(403, "Requires role \(required); the token has role \(role.rawValue)")
    }
}
