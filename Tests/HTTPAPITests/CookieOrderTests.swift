import Access
import Fleet
import HTTP
import JWT
import PusherAPI
import Testing

/// Which of several cookies counts.
@Suite struct CookieOrderTests {
    private static let dispatcher = FleetCall.token(for: FleetCall.identity(.admin))
    private static let planted = FleetCall.token(for: Identity(role: .admin, id: "mallory"))

    private static func router(_ cookies: [String], sessions: SessionCookies = .none) throws -> Router {
        let verifier = try TokenVerifier(issuers: [FleetCall.issuer], keyCache: IssuerKeyCache(issuers: [FleetCall.issuer]))
        let app = Application.example()
        let authenticator = Authenticator(verifier: verifier, cookies: cookies, sessions: sessions, origins: app.origins)
        let fleet = FleetRouter(
            app: app, authenticator: authenticator, metricsToken: "", isCatalogued: { _ in false }, isTimeZone: { _ in false })
        return Router(apps: [app], metricsToken: "", fleet: fleet)
    }

    /// The id of the admin whose request this is; its refusal if it is nobody's.
    private func actor(_ cookies: String, _ names: [String] = ["session", "__Secure-session", "__Host-session"]) throws -> String?
    {
        let call = FleetCall(.put, "/api/admin/orders/A1", as: nil).with(.cookie, cookies)
        let router = try Self.router(names)
        if case .command(let command)? = call.apiAction(router).ofFleet { return command.actor.id }
        return call.refusal(router)
    }

    /// A neighbouring host, or who controls the network, can set a cookie with a plain name, but none with such a prefix.
    @Test(arguments: ["__Secure-session", "__Host-session"]) func aPlantedCookieDoesNotReplaceAGuardedOne(name: String) throws {
        #expect(try actor("\(name)=\(Self.dispatcher); session=\(Self.planted)") == "7")
        #expect(try actor("session=\(Self.planted); \(name)=\(Self.dispatcher)") == "7")
        #expect(try actor("session=\(Self.planted); \(name)=stale") == "mallory", "one that is not valid counts for nothing")
        #expect(try actor("session=x; \(name)=\(Self.dispatcher)") == "7")
        #expect(try actor("session=\(Self.planted)") == "mallory")
    }

    /// The prefixes are compared with their case, as browsers did when they introduced them.
    @Test func otherNamesAreNotGuarded() throws {
        for name in ["__secure-session", "_Secure-session", "__Hostsession", "x__Host-session"] {
            let cookies = "\(name)=\(Self.dispatcher); session=\(Self.planted)"
            #expect(try actor(cookies, ["session", name]) == "mallory")
        }
    }

    @Test func eachCookieOfANameIsTried() throws {
        #expect(try actor("session=stale; session=\(Self.dispatcher)") == "7")
        #expect(try actor("session=\(Self.dispatcher); session=stale") == "7")
        #expect(try actor("__Host-session=stale; __Host-session=\(Self.dispatcher); session=\(Self.planted)") == "7")
        let stale = Array(repeating: "session=stale; ", count: 3).joined()
        #expect(try actor(stale + "session=\(Self.dispatcher)") == "7")
        #expect(
            try actor(stale + "session=stale; session=\(Self.dispatcher)")?.hasPrefix("401 ") == true, "the fifth is not tried")
    }

    /// An operator who forgot the secret must not look for the fault in the dashboard.
    @Test func saysThatSessionCookiesAreOff() throws {
        let sessions = SessionCookies(
            names: ["next-auth.session-token", "__Secure-next-auth.session-token"], secrets: [], scheme: .v4,
            roles: .init(claim: "role", admin: ["ADMIN"], ops: []))
        let router = try Self.router(["session"], sessions: sessions)
        func refusal(_ cookies: String) -> String? {
            FleetCall(.get, "/api/driver/jobs", as: nil).with(.cookie, cookies).refusal(router)
        }
        let off = "401 Session cookies are off: set auth.session.secret, or send Authorization: Bearer and a JWT"
        for cookies in [
            "next-auth.session-token=x", "theme=dark; __Secure-next-auth.session-token=x", "next-auth.session-token.0=x",
        ] {
            #expect(refusal(cookies) == off, "\(cookies)")
        }
        for cookies in ["theme=dark", "next-auth.session-tokens=x", "next-auth.csrf-token=x", ""] {
            #expect(refusal(cookies) == "401 Missing Authorization: expected Bearer and a JWT", "\(cookies)")
        }
        #expect(refusal("session=x; next-auth.session-token=x")?.hasPrefix("401 Expected a signed JWT") == true)
    }
}
