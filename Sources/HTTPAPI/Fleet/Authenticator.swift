import Access
import HTTP
import JWT

/// Authenticates requests by their JWT, which is in the `Authorization` header or, without this header, in a cookie.
/// One instance per thread.
package struct Authenticator {
    private let verifier: TokenVerifier
    /// The names of the cookies that may contain a token.
    private let cookies: [String]
    private let origins: AllowedOrigins

    /// - Parameter origins: the web origins whose pages may use the cookie.
    package init(verifier: TokenVerifier, cookies: [String], origins: AllowedOrigins) {
        self.verifier = verifier
        self.cookies = cookies
        self.origins = origins
    }

    enum Result {
        case identity(Identity)
        /// The keys of the issuer must be fetched before the token can be verified.
        case needsKey(MissingKey)
    }

    /// - Parameter now: seconds since 1970.
    /// - Throws: ``APIError`` with 401, or with 403 if the token is valid, but its user has no role.
    func authenticate(on request: HTTPRequest, now: Int64) throws(APIError) -> Result {
        switch verifier.verify(try token(in: request), now: now) {
        case .identity(let identity): return .identity(identity)
        case .needsKey(let key): return .needsKey(key)
        case .expired(let text): throw .unauthorized(text, isExpired: true)
        case .refused(let text): throw .unauthorized(text)
        case .withoutRole(let text): throw APIError(403, text)
        }
    }

    private func token(in request: HTTPRequest) throws(APIError) -> String {
        if let authorization = request.authorization {
            let parts = authorization.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
            guard parts.count == 2, parts[0].elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 }) else {
                throw .unauthorized("Expected Authorization: Bearer and a JWT")
            }
            return String(Substring(parts[1]))
        }
        guard let token = cookie(in: request) else { throw .unauthorized("Missing Authorization: expected Bearer and a JWT") }
        guard acceptsCookies(of: request) else {
            throw .unauthorized("Cookies are not accepted from this origin: add it to allowed_origins, or send Authorization")
        }
        return token
    }

    /// The value of the first cookie in the header whose name is configured. The header contains `name=value` pairs
    /// separated by `; `, where a value may be in quotes (RFC 6265 section 4).
    private func cookie(in request: HTTPRequest) -> String? {
        guard !cookies.isEmpty, let header = request.field(.cookie) else { return nil }
        for pair in header.utf8.split(separator: UInt8(ascii: ";")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard parts.count == 2 else { continue }
            let (name, value) = (parts[0].drop { $0 == UInt8(ascii: " ") }, parts[1])
            guard cookies.contains(where: { $0.utf8.elementsEqual(name) }) else { continue }
            let isQuoted = value.count > 1 && value.first == UInt8(ascii: "\"") && value.last == UInt8(ascii: "\"")
            return String(Substring(isQuoted ? value.dropFirst().dropLast() : value))
        }
        return nil
    }

    /// Whether the request's cookies are accepted. A browser sends cookies with the requests of any web page, so they
    /// are accepted only from pages of this host, and of origins that the configuration lists (other than by `*`).
    private func acceptsCookies(of request: HTTPRequest) -> Bool {
        // Navigations and frames have no Origin; Sec-Fetch-Site shows whether another site caused the request.
        guard let origin = request.origin else {
            return request.rawField(.secFetchSite).map { !$0.equalsIgnoringCase("cross-site") } ?? true
        }
        return AllowedOrigins.isOrigin(origin, of: request.field(.host)) || origins.lists(explicitly: origin)
    }
}
