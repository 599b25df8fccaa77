import Access
import HTTP
import JWT

/// Authenticates requests by their JWT, which is in the `Authorization` header or, without this header, in a cookie; by an
/// opaque token in that header; or by the encrypted session cookie of a dashboard.
/// One instance per thread.
package struct Authenticator {
    private let verifier: TokenVerifier
    private let cookies: [String]
    private let sessions: SessionCookies
    private let origins: AllowedOrigins
    /// Nil if opaque tokens are refused.
    let opaqueTokens: OpaqueTokens?

    /// - Parameters:
    ///   - cookies: the names of the cookies that may contain a token.
    ///   - sessions: verifies the dashboard's session cookies.
    ///   - origins: the web origins whose pages may use the cookies.
    ///   - lookUp: what is known of an opaque token; nil if its backend has to be asked. Without it, opaque tokens are
    ///     refused.
    package init(
        verifier: TokenVerifier, cookies: [String], sessions: SessionCookies = .none, origins: AllowedOrigins,
        lookUp: (@Sendable (OpaqueToken) -> VerificationResult?)? = nil
    ) {
        self.verifier = verifier
        self.cookies = cookies
        self.sessions = sessions
        self.origins = origins
        opaqueTokens = lookUp.map(OpaqueTokens.init)
    }

    enum Result {
        case identity(Identity)
        /// The keys of the issuer must be fetched before the token can be verified.
        case needsKey(MissingKey)
        /// The backend of an opaque token must be asked.
        case needsAnswer(OpaqueToken)
    }

    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - expiredSecondsMax: so long after its end a token in `Authorization` that a customer got by a code is accepted.
    /// - Throws: ``APIError`` with 401, or with 403 if the token is valid, but its user has no role.
    func authenticate(on request: HTTPRequest, now: Int64, expiredSecondsMax: Int64 = 0) throws(APIError) -> Result {
        switch try verify(request, now: now, expiredSecondsMax) {
        case .identity(let identity): return .identity(identity)
        case .needsKey(let key): return .needsKey(key)
        case .needsAnswer(let token): return .needsAnswer(token)
        case .expired(let text): throw .unauthorized(text, isExpired: true)
        case .refused(let text): throw .unauthorized(text)
        case .withoutRole(let text): throw APIError(403, text)
        }
    }

    /// Verifies the token in `Authorization` or, only without this header, the cookie.
    private func verify(
        _ request: HTTPRequest, now: Int64, _ expiredSecondsMax: Int64
    ) throws(APIError) -> VerificationResult {
        if let authorization = request.authorization {
            let parts = authorization.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
            guard parts.count == 2, parts[0].elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 }) else {
                throw .unauthorized("Expected Authorization: Bearer and a JWT")
            }
            let token = String(Substring(parts[1]))
            if let opaqueTokens, let token = OpaqueToken(token) { return opaqueTokens.result(of: token) }
            return verifier.verify(token, now: now, expiredSecondsMax: expiredSecondsMax)
        }
        guard let result = verifyCookies(of: request, now: now) else {
            throw .unauthorized("Missing Authorization: expected Bearer and a JWT")
        }
        guard acceptsCookies(of: request) else {
            throw .unauthorized("Cookies are not accepted from this origin: add it to allowed_origins, or send Authorization")
        }
        return result
    }

    /// - Returns: nil if the request has none of the configured cookies.
    private func verifyCookies(of request: HTTPRequest, now: Int64) -> VerificationResult? {
        guard !cookies.isEmpty || !sessions.names.isEmpty else { return nil }
        let received = RequestCookies(request.rawField(.cookie), names: cookies + sessions.names)
        if let token = received.value(named: cookies) { return verifier.verify(token, now: now) }
        var refusal: VerificationResult?
        for name in sessions.names {
            guard let value = received.joinedValue(named: name) else { continue }
            let result = sessions.verify(value, name: name, now: now)
            if case .identity = result { return result }
            // A browser may still have a cookie of another name from before, such as from before TLS.
            refusal = refusal ?? result
        }
        return refusal
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

/// What is known of opaque tokens, on one thread.
final class OpaqueTokens {
    private let lookUp: @Sendable (OpaqueToken) -> VerificationResult?
    /// What a request has waited for, while it is routed again. It counts although it may not be kept: an answer that is
    /// fresh for no time would otherwise lead to the next question.
    private var awaited: AnsweredToken?

    init(_ lookUp: @escaping @Sendable (OpaqueToken) -> VerificationResult?) { self.lookUp = lookUp }

    func result(of token: OpaqueToken) -> VerificationResult {
        if let awaited, awaited.digest == token.digest { return awaited.result }
        return lookUp(token) ?? .needsAnswer(token)
    }

    /// Calls `use`, for which this answer counts.
    func with<Result>(_ answer: AnsweredToken, _ use: () -> Result) -> Result {
        awaited = answer
        defer { awaited = nil }
        return use()
    }
}
