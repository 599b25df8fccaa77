import Access
import HTTP
import JWT
import PusherAPI

/// Authenticates requests by their JWT, which is in the `Authorization` header or, without this header, in a cookie; by an
/// opaque token in that header; or by the encrypted session cookie of a dashboard.
/// One instance per thread.
package struct Authenticator {
    private let verifier: TokenVerifier
    /// The cookies that only a secure page of this host, or of its domain, can have set, by their names' prefix (RFC 6265bis
    /// section 4.1.3); and the others, which a neighbouring host, or who controls the network, can plant.
    private let cookies: (guarded: [Cookie], plain: [Cookie])
    private let names: [String]
    private let sessions: SessionCookies
    private let origins: AllowedOrigins
    /// Nil if opaque tokens are refused.
    let opaqueTokens: OpaqueTokens?
    private let noteMissing: @Sendable (String) -> Void

    private struct Cookie {
        let name: String
        /// Whether it contains an encrypted session instead of a token.
        let isSession: Bool

        var isGuarded: Bool { name.utf8.starts(with: "__Host-".utf8) || name.utf8.starts(with: "__Secure-".utf8) }
    }

    /// - Parameters:
    ///   - cookies: the names of the cookies that may contain a token.
    ///   - sessions: verifies the dashboard's session cookies.
    ///   - origins: the web origins whose pages may use the cookies.
    ///   - lookUp: what is known of an opaque token; nil if its backend has to be asked. Without it, opaque tokens are
    ///     refused.
    ///   - noteMissing: called with a configuration key without which a token cannot be judged.
    package init(
        verifier: TokenVerifier, cookies: [String], sessions: SessionCookies = .none, origins: AllowedOrigins,
        lookUp: (@Sendable (OpaqueToken) -> VerificationResult?)? = nil,
        noteMissing: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.verifier = verifier
        let all =
            cookies.map { Cookie(name: $0, isSession: false) } + sessions.names.map { Cookie(name: $0, isSession: true) }
        self.cookies = (all.filter(\.isGuarded), all.filter { !$0.isGuarded })
        names = all.map(\.name)
        self.sessions = sessions
        self.origins = origins
        opaqueTokens = lookUp.map(OpaqueTokens.init)
        self.noteMissing = noteMissing
    }

    enum Result {
        case identity(Identity)
        case needs(TokenNeed)
    }

    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - expiredSecondsMax: so long after its end a token in `Authorization` that a customer got by a code is accepted.
    /// - Throws: ``APIError`` with 401; with 403 if the token is valid, but its user has no role; with 503 if the configuration
    ///   lacks what the token needs.
    func authenticate(on request: HTTPRequest, now: Int64, expiredSecondsMax: Int64 = 0) throws(APIError) -> Result {
        switch try verify(request, now: now, expiredSecondsMax) {
        case .identity(let identity): return .identity(identity)
        case .needsKey(let key): return .needs(.key(key))
        case .needsAnswer(let token): return .needs(.answer(token))
        case .expired(let text): throw .unauthorized(text, isExpired: true)
        case .refused(let text): throw .unauthorized(text)
        case .withoutRole(let text): throw APIError(403, text)
        case .needsSetting(let key):
            noteMissing(key)
            throw APIError(503, "Tokens of this issuer cannot be judged: \(key) is not set", headers: ["Retry-After": "60"])
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
            guard RequestCookies(request.rawField(.cookie), names: sessions.unreadNames).isEmpty else {
                throw .unauthorized("Session cookies are off: set auth.session.secret, or send Authorization: Bearer and a JWT")
            }
            throw .unauthorized("Missing Authorization: expected Bearer and a JWT")
        }
        try checkOrigin(ofCookiesIn: request)
        return result
    }

    /// - Returns: nil if the request has none of the configured cookies.
    private func verifyCookies(of request: HTTPRequest, now: Int64) -> VerificationResult? {
        guard !names.isEmpty else { return nil }
        let received = RequestCookies(request.rawField(.cookie), names: names)
        let guarded = verify(cookies.guarded, in: received, now: now)
        switch guarded {
        // What can be planted does not replace the cookie of a genuine session.
        case .identity?, .needsKey?, .withoutRole?: return guarded
        default: break
        }
        let plain = verify(cookies.plain, in: received, now: now)
        if case .identity? = plain { return plain }
        return guarded ?? plain
    }

    /// Verifies cookies until one has an identity. A browser may have further ones from before, such as of another name, or of
    /// the same name for another path.
    /// - Returns: nil if the request has none of them.
    private func verify(_ cookies: [Cookie], in received: RequestCookies, now: Int64) -> VerificationResult? {
        var refusal: VerificationResult?
        for cookie in cookies {
            let values = cookie.isSession ? received.joinedValues(named: cookie.name) : received.values(named: cookie.name)
            for value in values {
                let result =
                    cookie.isSession
                    ? sessions.verify(value, name: cookie.name, now: now) : verifier.verify(value, now: now)
                if case .identity = result { return result }
                refusal = refusal.map { Self.weightier($0, result) } ?? result
            }
        }
        return refusal
    }

    /// Which of two refusals counts: one that may end with a fetch of keys, then that of a genuine user, then the first.
    private static func weightier(_ one: VerificationResult, _ other: VerificationResult) -> VerificationResult {
        switch (one, other) {
        case (.needsKey, _): one
        case (_, .needsKey): other
        case (.withoutRole, _): one
        case (_, .withoutRole): other
        default: one
        }
    }

    /// Checks whether the request's cookies are accepted. A browser sends cookies with the requests of any web page, so they
    /// are accepted only from pages of this host, and of origins that the configuration lists (other than by `*`).
    /// - Throws: ``APIError`` with 401 if they are not.
    private func checkOrigin(ofCookiesIn request: HTTPRequest) throws(APIError) {
        guard let origin = request.origin else {
            // Navigations and frames have no Origin; Sec-Fetch-Site shows whether another site caused the request.
            guard let site = request.rawField(.secFetchSite), !site.isEmpty else { return }
            let accepted: [StaticString] = ["same-origin", "same-site", "none"]
            guard accepted.contains(where: { site.equalsIgnoringCase($0) }) else { throw Self.wrongOrigin }
            return
        }
        // Who controls the network can answer for any page without TLS.
        guard !request.isSecure || WebOrigin(origin)?.isPlain != true else {
            throw .unauthorized("Cookies of a request with TLS are not accepted from http:// pages: use https://")
        }
        guard
            AllowedOrigins.isOrigin(origin, of: request.field(.host), isSecure: request.isSecure)
                || origins.lists(explicitly: origin)
        else { throw Self.wrongOrigin }
    }

    private static let wrongOrigin = APIError.unauthorized(
        "Cookies are not accepted from this origin: add it to allowed_origins, or send Authorization")
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
