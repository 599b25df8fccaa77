import FleetRules
import PusherProtocol
import Tokens

/// From a request to whoever sends it: a JWT as Bearer, else in a cookie. One instance per thread.
package struct Authenticator {
    private let verifier: TokenVerifier
    /// Names of cookies that may hold a token.
    private let cookies: [String]
    private let origins: AllowedOrigins

    /// - Parameter origins: the pages that may act in the name of whoever has the cookie.
    package init(verifier: TokenVerifier, cookies: [String], origins: AllowedOrigins) {
        self.verifier = verifier
        self.cookies = cookies
        self.origins = origins
    }

    enum Verdict {
        case identity(Identity)
        /// The issuer's keys have to be fetched first.
        case needsKeys(issuer: Int)
    }

    /// - Parameter now: seconds since 1970.
    /// - Throws: ``APIError`` with 401.
    func verdict(on request: HTTPRequest, now: Int64) throws(APIError) -> Verdict {
        switch verifier.verdict(on: try token(in: request), now: now) {
        case .identity(let identity): return .identity(identity)
        case .needsKeys(let issuer): return .needsKeys(issuer: issuer)
        case .refused(let text): throw Self.unauthorized(text)
        }
    }

    private func token(in request: HTTPRequest) throws(APIError) -> String {
        if let authorization = request.authorization {
            let parts = authorization.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "bearer" else {
                throw Self.unauthorized("Expected Authorization: Bearer and a JWT")
            }
            return String(parts[1])
        }
        guard let token = cookie(in: request) else { throw Self.unauthorized("Authorization is required: a JWT as Bearer") }
        guard isSameSite(request) else {
            throw Self.unauthorized("A cookie is not enough from this origin: name it in allowed_origins, or send Authorization")
        }
        return token
    }

    /// RFC 6265 section 5.4: `name=value` pairs separated by `; `.
    private func cookie(in request: HTTPRequest) -> String? {
        guard !cookies.isEmpty, let header = request.field(.cookie) else { return nil }
        for pair in header.split(separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            if cookies.contains(String(parts[0].drop { $0 == " " })) { return String(parts[1]) }
        }
        return nil
    }

    /// A browser sends a cookie along for any page that asks it to; only pages of this host, or those that the
    /// configuration names (not by `*`), are taken to act for its owner.
    private func isSameSite(_ request: HTTPRequest) -> Bool {
        guard let origin = request.origin else { return true }
        if let host = request.field(.host), origin.lowercased().hasSuffix("://" + host.lowercased()) { return true }
        return origins.name(origin)
    }

    private static func unauthorized(_ text: String) -> APIError { APIError(401, text, headers: ["WWW-Authenticate": "Bearer"]) }
}
