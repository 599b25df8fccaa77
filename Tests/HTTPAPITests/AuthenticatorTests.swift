import Fleet
import HTTP
import JWT
import PusherAPI
import Testing

/// Authentication by a JWT, as Bearer token or in a cookie, and the origins whose pages may send the cookie.
@Suite struct AuthenticatorTests {
    private let token = FleetCall.token(for: FleetCall.identity(.driver))

    private func call(_ fields: [HTTPRequest.Field: String]) -> FleetCall {
        var call = FleetCall(.get, "/api/driver/jobs", as: nil)
        call.fields = fields
        return call
    }

    private func refusal(authorization: String) -> String? { call([.authorization: authorization]).refusal }

    // MARK: Bearer

    @Test func acceptsABearerTokenInAnyCaseOfTheScheme() {
        for scheme in ["Bearer", "bearer", "BEARER", "bEaReR"] {
            #expect(call([.authorization: "\(scheme) \(token)"]).storeQuery == .jobs(driverID: "42"))
        }
    }

    @Test(arguments: ["", " ", "Bearer", "Bearer ", "Basic dTpw", "Bearertoken", "bearer\ttoken", "token", "Digest x y"])
    func rejectsOtherAuthorizationHeaders(authorization: String) {
        #expect(refusal(authorization: authorization) == "401 Expected Authorization: Bearer and a JWT")
        // An Authorization header, even an invalid one, takes precedence over a valid cookie.
        #expect(call([.authorization: authorization, .cookie: "session=" + token]).status() == 401)
    }

    @Test func rejectsInvalidTokens() throws {
        for wrong in ["x", "a.b.c", token + "x", " " + token, token + ", Bearer " + token, String(token.dropLast())] {
            let response = try #require(call([.authorization: "Bearer " + wrong]).response())
            #expect(response.status == 401 && Self.description(of: response) == "invalid", "\(wrong)")
        }
    }

    /// Apps renew an expired token, and ask the user to sign in again if it is invalid for another reason.
    @Test func tellsAnExpiredTokenFromAnInvalidOne() throws {
        let expired = TokenMint.token(
            for: FleetCall.identity(.driver), secret: "0123456789abcdef0123456789abcdef", issuedAt: Call.now - 200,
            lifetimeSeconds: 100)
        #expect(refusal(authorization: "Bearer " + expired)?.hasPrefix("401 The token expired at ") == true)
        for path in ["/api/driver/jobs", "/api/auth/fcm-token", "/api/ops/stats", "/pusher/auth", "/app-register-device"] {
            for (token, description) in [(expired, "expired"), (expired + "x", "invalid"), ("x", "invalid")] {
                let call = FleetCall(.get, path, as: nil).with(.authorization, "Bearer " + token)
                #expect(Self.description(of: try #require(call.response())) == description, "\(path)")
            }
            #expect(Self.description(of: try #require(FleetCall(.get, path, as: nil).response())) == "invalid", "\(path)")
        }
    }

    /// The `error_description` in the header of a 401.
    private static func description(of response: HTTPResponse) -> String? {
        let value = response.headers["WWW-Authenticate"]
        return ["expired", "invalid"].first { value == #"Bearer error="invalid_token", error_description="\#($0)""# }
    }

    @Test func requiresAuthorization() {
        #expect(call([:]).refusal == "401 Missing Authorization: expected Bearer and a JWT")
    }

    @Test func asksToFetchTheIssuersKeysIfTheyAreNotCached() {
        let issuer = TokenIssuer(algorithm: .rs256, keys: .remote(url: "https://x.example", .jwks), issuer: "remote")
        let router = Router.example([.example()], issuers: [FleetCall.issuer, issuer])
        let header = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ"  // {"alg":"RS256","kid":"1"}
        let payload = "eyJpc3MiOiJyZW1vdGUifQ"  // {"iss":"remote"}
        let call = call([.authorization: "Bearer \(header).\(payload).AAAA"])
        let routing = call.withRequest { router.route(head: $0, now: Call.now).routing }
        guard case .needs(let fact) = routing, case .key(let key)? = fact as? TokenNeed else {
            Issue.record("\(routing)")
            return
        }
        #expect(key.issuer == 1 && key.keyID == "1")
    }

    // MARK: Cookies

    @Test func findsTheTokenCookieAmongOthers() {
        for cookies in [
            "session=\(token)", "a=b; session=\(token)", "session=\(token); a=b", "a=b;session=\(token)", ";; session=\(token);",
            "sessions=x; session=\(token)", "=x; a; session=\(token)", "session=; session=\(token)", #"session="\#(token)""#,
            #"a="b"; session="\#(token)"; c=d"#,
        ] {
            #expect(call([.cookie: cookies]).storeQuery == .jobs(driverID: "42"), "\(cookies)")
        }
    }

    @Test(arguments: ["", ";", "=", "session", "session=", "Session=x", "xsession=x", "session2=x", "a=session=x", "a=b; c=d"])
    func ignoresOtherCookies(cookies: String) {
        #expect(call([.cookie: cookies]).refusal == "401 Missing Authorization: expected Bearer and a JWT")
    }

    @Test(arguments: ["session=x", #"session="""#, #"session=""#, "session=a.b.c; session=x", "session= "])
    func rejectsCookiesWithoutAValidToken(cookies: String) {
        #expect(call([.cookie: cookies]).status() == 401)
    }

    @Test func readsOnlyConfiguredCookies() throws {
        let verifier = try TokenVerifier(issuers: [FleetCall.issuer], keyCache: IssuerKeyCache(issuers: [FleetCall.issuer]))
        // The configured names, and whether the cookie "b" is read.
        for (names, isRead) in [([], false), (["a", "b"], true), (["b"], true), ([""], false)] as [([String], Bool)] {
            let app = Application.example()
            let fleet = FleetRouter(
                app: app, authenticator: Authenticator(verifier: verifier, cookies: names, origins: app.origins),
                metricsToken: "", isCatalogued: { _ in false }, isTimeZone: { _ in false })
            let router = Router(apps: [app], metricsToken: "", fleet: fleet)
            #expect(call([.cookie: "session=x; b=\(token)"]).status(router) == (isRead ? nil : 401), "\(names)")
        }
    }

    // MARK: Cookies and origins

    /// The status of the response to a request with a valid cookie from a page of `origin`. Nil if the cookie is
    /// accepted.
    /// - Parameter origins: the configured `allowed_origins`.
    private func status(origin: String, host: String? = nil, isSecure: Bool = false, _ origins: [String]) -> Int? {
        var fields: [HTTPRequest.Field: String] = [.cookie: "session=" + token, .origin: origin]
        fields[.host] = host
        var call = call(fields)
        call.isSecure = isSecure
        return call.status(FleetCall.router(origins: origins))
    }

    @Test func acceptsCookiesFromPagesOfThisHost() {
        for (origin, host) in [
            ("https://gw.example", "gw.example"), ("http://gw.example:6001", "gw.example:6001"),
            ("HTTPS://GW.example", "gw.EXAMPLE"), ("https://gw.example:443", "gw.example"),
            ("https://gw.example", "gw.example:443"),
            ("http://gw.example", "gw.example:80"), ("https://gw.example/", "gw.example"),
        ] {
            #expect(status(origin: origin, host: host, []) == nil, "\(origin)")
        }
    }

    @Test(
        arguments: [
            ("https://evil.example", "gw.example"), ("https://xgw.example", "gw.example"), ("https://gw.example:1", "gw.example"),
            ("https://gw.example", "gw.example:6001"), ("null", "null"), ("null", "gw.example"),
            ("https://gw.example.evil", "gw.example"),
            ("gw.example", "gw.example"), ("", "gw.example"), ("https://gw.example", nil), ("https://", "gw.example"),
        ] as [(String, String?)])
    func rejectsCookiesFromPagesOfOtherOrigins(origin: String, host: String?) {
        for origins in [[], ["*"], ["https://other.example"]] { #expect(status(origin: origin, host: host, origins) == 401) }
        let call = call([.cookie: "session=" + token, .origin: origin])
        let text = "401 Cookies are not accepted from this origin: add it to allowed_origins, or send Authorization"
        #expect(call.refusal == text)
        // The origin matters for cookies only.
        #expect(call.with(.authorization, "Bearer " + token).status() == nil)
    }

    @Test(arguments: [
        ("cross-site", false), ("Cross-Site", false), ("same-origin", true), ("same-site", true), ("none", true), ("", true),
        ("Same-Origin", true), ("same-origin, cross-site", false), ("cross-origin", false), ("x", false), ("same", false),
    ])
    func usesSecFetchSiteIfThereIsNoOrigin(site: String, isAccepted: Bool) {
        #expect(call([.cookie: "session=" + token, .secFetchSite: site]).status() == (isAccepted ? nil : 401))
    }

    /// Who controls the network answers for every page without TLS, and has the browser post for it.
    @Test func aRequestWithTLSAcceptsCookiesFromPagesWithTLSOnly() {
        for (origin, isAccepted) in [("https://gw.example", true), ("http://gw.example", false), ("HTTP://gw.example:80", false)]
        {
            #expect(status(origin: origin, host: "gw.example", isSecure: true, []) == (isAccepted ? nil : 401), "\(origin)")
            #expect(status(origin: origin, host: "gw.example", []) == nil, "whether TLS is used is not known behind some proxies")
        }
        for (origin, isAccepted) in [
            ("https://dash.example", true), ("http://dash.example", false), ("capacitor://localhost", true),
        ] {
            let origins = ["https://dash.example", "http://dash.example", "capacitor://localhost"]
            #expect(status(origin: origin, host: "gw.example", isSecure: true, origins) == (isAccepted ? nil : 401), "\(origin)")
        }
        var call = call([.cookie: "session=" + token, .origin: "http://gw.example", .host: "gw.example"])
        call.isSecure = true
        #expect(call.refusal == "401 Cookies of a request with TLS are not accepted from http:// pages: use https://")
        #expect(call.with(.authorization, "Bearer " + token).status() == nil)
    }

    @Test func acceptsCookiesFromConfiguredOrigins() {
        for (origin, pattern) in [
            ("https://app.example", "https://app.example"), ("https://a.app.example", "https://*.app.example"),
            ("HTTPS://App.Example", "https://app.example"),
        ] {
            #expect(status(origin: origin, host: "gw.example", ["*", pattern]) == nil, "\(origin)")
        }
        for origin in ["https://app.example", "https://xapp.example", "http://a.app.example", "https://a.app.example:1"] {
            #expect(status(origin: origin, host: "gw.example", ["https://*.app.example"]) == 401, "\(origin)")
        }
    }
}

/// Opaque tokens: what is looked up, what must be asked about, and what an awaited answer does.
@Suite struct OpaqueTokenAuthenticationTests {
    private static let driver = VerificationResult.identity(FleetCall.identity(.driver))

    /// A router that knows the token `known`, and no other.
    private func router() throws -> (fleet: FleetRouter, router: Router) {
        let app = Application.example()
        let verifier = try TokenVerifier(issuers: [FleetCall.issuer], keyCache: IssuerKeyCache(issuers: [FleetCall.issuer]))
        let authenticator = Authenticator(
            verifier: verifier, cookies: ["session"], origins: app.origins,
            lookUp: { $0.text == "known" ? Self.driver : nil })
        let fleet = FleetRouter(
            app: app, authenticator: authenticator, metricsToken: "m", isCatalogued: { _ in false },
            isTimeZone: { _ in false })
        return (fleet, Router(apps: [app], metricsToken: "m", fleet: fleet))
    }

    private func routing(
        _ path: String, _ fields: [HTTPRequest.Field: String], with answer: AnsweredToken? = nil,
        _ routers: (fleet: FleetRouter, router: Router)
    ) -> Routing {
        var call = FleetCall(.get, path, as: nil)
        call.fields = fields
        return call.withRequest { request in
            let route = { routers.router.route(head: request, now: Call.now).routing }
            return answer.map { routers.fleet.with($0, route) } ?? route()
        }
    }

    @Test(arguments: ["/api/driver/jobs", "/pusher/auth", "/pusher/user-auth", "/api/ops/stats", "/metrics"])
    func looksUpWhereverABearerTokenCounts(path: String) throws {
        let router = try router()
        guard case .needs(let fact) = routing(path, [.authorization: "Bearer stranger"], router),
            case .answer(let token)? = fact as? TokenNeed
        else {
            Issue.record("no answer is needed")
            return
        }
        #expect(token.text == "stranger")
        let refused = AnsweredToken(digest: token.digest, result: .refused("The token is not active"))
        guard case .respond(let response) = routing(path, [.authorization: "Bearer stranger"], with: refused, router) else {
            Issue.record("the answer does not count")
            return
        }
        #expect(response.status == 401)
    }

    @Test func letsAKnownTokenIn() throws {
        guard case .route(let route) = routing("/api/driver/jobs", [.authorization: "bearer known"], try router()) else {
            Issue.record("the token is not accepted")
            return
        }
        #expect(route.actor == "driver:42")
    }

    @Test func anAnswerCountsForItsTokenAndItsRequestOnly() throws {
        let router = try router()
        let token = try #require(OpaqueToken("stranger"))
        let answer = AnsweredToken(digest: token.digest, result: Self.driver)
        guard case .route = routing("/api/driver/jobs", [.authorization: "Bearer stranger"], with: answer, router) else {
            Issue.record("the answer does not count")
            return
        }
        for (text, answer) in [("stranger", nil), ("other", answer)] {
            guard case .needs = routing("/api/driver/jobs", [.authorization: "Bearer \(text)"], with: answer, router) else {
                Issue.record("the answer counts for \(text)")
                return
            }
        }
    }

    /// A JWT is verified here, and what cannot be a token asks nobody; a cookie with an opaque token neither.
    @Test(
        arguments: [
            [.authorization: "Bearer a.b.c"], [.authorization: "Bearer "], [.authorization: "Basic known"],
            [.authorization: "Bearer known known"], [.cookie: "session=known"],
        ] as [[HTTPRequest.Field: String]])
    func asksNobodyAboutAnythingElse(fields: [HTTPRequest.Field: String]) throws {
        guard case .respond(let response) = routing("/api/driver/jobs", fields, try router()) else {
            Issue.record("\(fields)")
            return
        }
        #expect(response.status == 401)
    }

    @Test func neverAsksAboutTheMetricsToken() throws {
        for path in ["/metrics", "/api/ops/stats"] {
            guard case .route = routing(path, [.authorization: "Bearer m"], try router()) else {
                Issue.record("\(path)")
                return
            }
        }
    }
}
