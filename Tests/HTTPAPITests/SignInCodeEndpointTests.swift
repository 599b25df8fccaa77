import Access
import HTTP
import JWT
import Testing

@testable import Fleet
@testable import PusherAPI

/// Who may call what below `/api/mobile/v1`, and which commands follow.
@Suite struct SignInCodeEndpointTests {
    private static let prefix = "/api/mobile/v1"
    private static let open = ["login-or-register", "resend-otp", "verify-otp"].map { "\(prefix)/auth/\($0)" }
    private static let own = [
        (HTTPRequest.Method.delete, "\(prefix)/auth/session"), (.post, "\(prefix)/user/registration/basic-details"),
        (.post, "\(prefix)/user/registration/credit-card"),
    ]
    private static let jti = String(repeating: "a", count: 32)
    private let router = Self.router(countries: [])

    private static func router(countries: [String]?) -> Router {
        var issuer = FleetCall.issuer
        issuer.signsCustomersIn = true
        return Router(
            apps: [.example()], metricsToken: "", fleet: .example([.example()], issuers: [issuer], codeCountries: countries))
    }

    private func call(_ path: String, _ body: String = "{}", method: HTTPRequest.Method = .post, as role: Role? = nil)
        -> FleetCall
    {
        FleetCall(method, path, body, as: role)
    }

    /// A customer's token of a sign-in by code.
    private func signedIn(_ call: FleetCall, ageSeconds: Int64 = 0) -> FleetCall {
        let token = TokenMint.token(
            for: Identity(role: .customer, id: "10000"), secret: "0123456789abcdef0123456789abcdef", id: Self.jti,
            issuedAt: Call.now - ageSeconds, lifetimeSeconds: 3_600)
        return call.with(.authorization, "Bearer " + token)
    }

    private func command(_ call: FleetCall, _ router: Router? = nil) -> (any Command)? { issued(call, router)?.command }

    private func issued(_ call: FleetCall, _ router: Router? = nil) -> IssuedCommand? {
        guard case .command(let command)? = call.apiAction(router ?? self.router).ofFleet else { return nil }
        #expect(command.idempotencyKey == nil, "no request is stored by a key")
        return command
    }

    @Test func theOpenEndpointsIgnoreTokens() throws {
        let bodies = [
            #"{"phone_isd":"+1","phone_country":"us","phone":"1234567","user_type":"customer"}"#, #"{"temp_user_id":"t"}"#,
            #"{"temp_user_id":"t","otp":"012345"}"#,
        ]
        for (path, body) in zip(Self.open, bodies) {
            let call = call(path, body)
            let request = try #require(command(call))
            for authorization in ["Bearer rubbish", "Basic x", "Bearer " + FleetCall.token(for: FleetCall.identity(.driver))] {
                #expect(command(call.with(.authorization, authorization)) == request)
            }
            #expect(request.origin == .anybody && command(call.with(.idempotencyKey, "k")) == request)
            #expect(issued(call)?.sender == .anonymous)
        }
    }

    @Test func theAddressIsLimitedWhereNoTokenIsNeeded() {
        for (path, limit) in zip(Self.open, [AddressLimit.codes, .codes, .tries]) {
            let routing = call(path).withRequest { router.route(head: $0, now: Call.now).routing }
            guard case .route(let route) = routing else {
                Issue.record("\(path)")
                continue
            }
            #expect(route.addressLimit == limit)
        }
    }

    @Test func theOthersNeedACustomersTokenOfASignIn() {
        for (method, path) in Self.own {
            #expect(call(path, method: method).status(router) == 401)
            for role in [Role.driver, .admin, .ops] { #expect(call(path, method: method, as: role).status(router) == 403) }
            let other = call(path, #"{"name":"Ann","email":"a@b.example","payment_token":"t"}"#, method: method, as: .customer)
            #expect(
                other.status(router) == 403 && other.response(router)?.member("message")?.hasPrefix("Requires a token") == true)
            #expect(command(signedIn(other))?.origin == .actor && issued(signedIn(other))?.actor.key == "customer:10000")
        }
    }

    @Test func aTokenCanBeRefreshedAfterItsEnd() {
        let refresh = call(Self.prefix + "/auth/refresh", "")
        #expect(command(signedIn(refresh)) == RefreshToken(TokenSession(jti: Self.jti, expiresAt: Call.now + 3_600)!))
        for age: Int64 in [3_660, 3_600 + 30 * 86_400 - 1] { #expect(command(signedIn(refresh, ageSeconds: age)) != nil) }
        #expect(signedIn(refresh, ageSeconds: 3_600 + 30 * 86_400).status(router) == 401)
        for role in [Role.customer, .admin] { #expect(call(refresh.path, "", as: role).status(router) == 401) }
        #expect(refresh.status(router) == 401)
        #expect(signedIn(call(Self.own[1].1), ageSeconds: 3_660).status(router) == 401, "but it can do nothing else")
    }

    @Test func whileItIsOffEverythingIs404() {
        let off = Self.router(countries: nil)
        for path in Self.open + Self.own.map(\.1) + [Self.prefix, Self.prefix + "/other"] {
            for role in [nil, Role.admin, .customer] { #expect(call(path, as: role).status(off) == 404) }
            let preflight = call(path, method: .options).with(.origin, "https://a.example")
            #expect(preflight.status(off) == 404)
            #expect(call(path).response(off)?.member("message") == "Resource not found")
        }
    }

    @Test func otherMethodsAndPaths() {
        for path in Self.open {
            #expect(call(path, method: .get).response(router)?.headers["Allow"] == "POST")
        }
        #expect(call(Self.prefix + "/auth/other").status(router) == 401)
        #expect(call(Self.prefix + "/auth/other", as: .driver).status(router) == 404)
        #expect(call("/api/mobile/v2/auth/other", as: .driver).response(router)?.member("error") != nil, "another envelope")
    }

    @Test func countriesAreChecked() {
        let router = Self.router(countries: ["+44"])
        let body = #"{"phone_isd":"+1","phone_country":"us","phone":"1234567","user_type":"customer"}"#
        #expect(
            call(Self.open[0], body).response(router)?.member("message") == "Phone numbers of this country are not supported")
        #expect(command(call(Self.open[0], body.replacing("+1", with: "+44")), router) != nil)
    }

    @Test(arguments: [
        #"{"payment_token":"4111111111111111"}"#, #"{"payment_token":"t","a":{"b":["4111-1111-1111-1111"]}}"#,
        #"{"payment_token":5,"4111111111111111":0}"#, #"["4111111111111111"]"#, #"{"idempotencyKey":4111111111111111}"#,
    ])
    func cardNumbersAreRefusedFirst(body: String) {
        let response = signedIn(call(Self.own[2].1, body)).response(router)
        #expect(response?.status == 400 && response?.member("message") == "Card numbers are not accepted here")
        #expect(call(Self.own[2].1, body).status(router) == 401, "after the token")
    }

    @Test func theSessionInTheLogIsShort() throws {
        let request = try #require(command(call(Self.open[1], #"{"temp_user_id":"temp_secretsecretsecret"}"#)))
        #expect(request.subject == "temp_secr…")
        #expect(PhoneNumber.masked("+11234567890") == "+1********90" && PhoneNumber.masked("+12345") == "+*")
    }
}
