import Access
import Crypto
import FanOut
import Fleet
import HTTP
import JWT
import PusherAPI
import PusherProtocol
import TestSupport
import Testing

/// A request as a backend's library sends it. Tests modify it before or after signing.
struct Call {
    /// The time of all requests, unless a test sets another: 2012-11-16 17:49:39 UTC, in seconds since 1970.
    static let now: Int64 = 1_353_088_179

    var method = HTTPRequest.Method.post
    var path = "/apps/1001/events"
    var body: [UInt8]
    var query: [(name: String, value: String)]

    /// A request with all parameters except the signature.
    init(_ body: String = #"{"name":"e","channel":"c","data":"d"}"#, key: String = "key1") {
        self.body = Array(body.utf8)
        query = [
            ("auth_key", key), ("auth_timestamp", String(Self.now)), ("auth_version", "1.0"),
            ("body_md5", self.body.withUnsafeBytes { MD5().hexadecimalDigest(of: $0) }),
        ]
    }

    /// A GET without a body.
    static func get(_ path: String) -> Call {
        var call = Call("").with("body_md5", nil)
        call.method = .get
        call.path = path
        return call
    }

    /// The request with another value of a query parameter; nil removes the parameter.
    func with(_ name: String, _ value: String?) -> Call {
        var call = self
        let index = query.firstIndex { $0.name == name }
        switch (index, value) {
        case (let index?, let value?): call.query[index].value = value
        case (let index?, nil): call.query.remove(at: index)
        case (nil, let value?): call.query.append((name, value))
        case (nil, nil): break
        }
        return call
    }

    /// The text that a library signs (protocol point A1), built independently of ``SigningText``.
    var signedText: String {
        let parameters = query.map { ($0.name.lowercased(), $0.value) }.filter { $0.0 != "auth_signature" }.sorted { $0.0 < $1.0 }
        return method.rawValue + "\n" + path + "\n" + parameters.map { $0.0 + "=" + $0.1 }.joined(separator: "&")
    }

    func signed(_ secret: String = "secret1") -> Call {
        with("auth_signature", HMACKey(secret: secret).signature(of: signedText))
    }

    /// Calls `use` with the request, whose body is valid only within the call.
    func asRequest<Value>(authorization: String? = nil, isLoopback: Bool = false, _ use: (HTTPRequest) -> Value) -> Value {
        RawRequest(
            method, RawRequest.target(path, query: query), fields: authorization.map { [("Authorization", $0)] } ?? [], body: body
        ).withRequest(isLoopback: isLoopback, use)
    }
}

extension Application {
    static func example(
        index: Int = 0, id: String = "1001", key: String = "key1", secret: String = "secret1", isEnabled: Bool = true,
        limits: Limits = Limits(), secrets: [String]? = nil, origins: [String] = ["*"]
    ) -> Application {
        var rules = AppRules()
        rules.limits = limits
        return Application(
            index: index, id: id, key: key, secrets: secrets ?? [secret], isEnabled: isEnabled,
            origins: AllowedOrigins(origins), rules: rules)
    }
}

extension AppRules {
    init(_ limits: Limits) {
        self.init()
        self.limits = limits
    }
}

extension Router {
    /// Routes a request as the event loop does: first the head, then the request with its body, unless that is too long.
    /// - Parameter limitsBody: false to route a body that the event loop would not read.
    func action(of request: HTTPRequest, now: Int64, limitsBody: Bool = true) -> APIAction {
        switch route(head: request, now: now).routing {
        case .respond(let response): return .respond(response)
        case .needs(let fact):
            Issue.record("\(fact) is needed")
            return .respond(.text(503, ""))
        case .route(let route):
            guard request.body.count <= route.readBodyBytesMax || !limitsBody && route.bodyBytesMax > 0 else {
                let text = "The body exceeds the allowed maximum (\(route.readBodyBytesMax) bytes)"
                return .respond(errorFormat(of: request)?.error(413, text) ?? .text(413, text))
            }
            return route.action(request.body)
        }
    }

    /// A router of a gateway with a fleet.
    init(apps: [Application], metricsToken: String = "", fleet: FleetRouter, replayGuard: ReplayGuard? = nil) {
        self.init(
            apps: apps, metricsToken: metricsToken, replayGuard: replayGuard, patterns: fleet.patterns, extension: fleet)
    }

    /// A router whose fleet API accepts tokens of `issuers`.
    static func example(_ apps: [Application], metricsToken: String = "", issuers: [TokenIssuer] = []) -> Router {
        Router(apps: apps, metricsToken: metricsToken, fleet: .example(apps, metricsToken: metricsToken, issuers: issuers))
    }
}

extension FleetRouter {
    static func example(
        _ apps: [Application], metricsToken: String = "", issuers: [TokenIssuer] = [], accounts: AccountCheck? = nil,
        codeCountries: [String]? = nil, permits: @escaping @Sendable (Sender, SubjectRate) -> Bool = { _, _ in true }
    ) -> FleetRouter {
        let keyCache = IssuerKeyCache(issuers: issuers)
        guard let verifier = try? TokenVerifier(issuers: issuers, keyCache: keyCache) else {
            preconditionFailure("invalid key of a test issuer")
        }
        let authenticator = Authenticator(verifier: verifier, cookies: ["session"], origins: apps[0].origins)
        return FleetRouter(
            app: apps[0], authenticator: authenticator, metricsToken: metricsToken, isCatalogued: { $0 == "DRIVER_APPROVED" },
            isTimeZone: { ["Europe/London", "Etc/GMT+1", "UTC", "../UTC", "GMT+05:30"].contains($0) },
            isPushedAs: { !$0.utf8.starts(with: "unheard".utf8) },
            accounts: accounts, codeCountries: codeCountries, permits: permits)
    }
}

extension APIAction {
    /// The action of the fleet's API; nil if it is one of the Pusher server.
    var ofFleet: FleetAction? { if case .perform(let action) = self { action as? FleetAction } else { nil } }
}
