import Access
import Fleet
import HTTP
import JSON
import JWT
import PusherAPI
import TestSupport
import Testing

/// A request to the fleet's API as an app sends it. Tests modify it.
struct FleetCall {
    static let issuer = TokenIssuer(algorithm: .hs256, keys: .secret("0123456789abcdef0123456789abcdef"))

    var method: HTTPRequest.Method
    var path: String
    var query: [(name: String, value: String)] = []
    var fields: [HTTPRequest.Field: String] = [:]
    var body: [UInt8]
    var isLoopback = false
    var isSecure = false

    /// - Parameter role: the role of the request's token. Nil for a request without a token.
    init(_ method: HTTPRequest.Method, _ path: String, _ body: String = "", as role: Role? = .admin) {
        self.method = method
        self.path = path
        self.body = Array(body.utf8)
        if let role { fields[.authorization] = "Bearer " + Self.token(for: Self.identity(role)) }
    }

    static func identity(_ role: Role) -> Identity {
        switch role {
        case .driver: Identity(role: .driver, id: "42", name: "Dan")
        case .admin: Identity(role: .admin, id: "7", name: "Ada")
        case .customer: Identity(role: .customer, id: "9", bookings: ["B-1", "B-2"])
        case .ops: Identity(role: .ops, id: "o1")
        }
    }

    static func token(for identity: Identity) -> String {
        TokenMint.token(
            for: identity, secret: "0123456789abcdef0123456789abcdef", issuedAt: Call.now, lifetimeSeconds: 3_600)
    }

    func with(_ field: HTTPRequest.Field, _ value: String?) -> FleetCall {
        var call = self
        call.fields[field] = value
        return call
    }

    func withQuery(_ name: String, _ value: String) -> FleetCall {
        var call = self
        call.query.append((name, value))
        return call
    }

    // MARK: Routing

    static func router(metricsToken: String = "", origins: [String] = ["*"]) -> Router {
        .example([.example(origins: origins)], metricsToken: metricsToken, issuers: [issuer])
    }

    func withRequest<Value>(_ use: (HTTPRequest) -> Value) -> Value {
        let fields = fields.map { (name: $0.key == .host ? "Host" : "\($0.key.name)", value: $0.value) }
        return RawRequest(method, RawRequest.target(path, query: query), fields: fields, body: body)
            .withRequest(isLoopback: isLoopback) { request in
                var request = request
                request.isSecure = isSecure
                return use(request)
            }
    }

    func apiAction(_ router: Router = router()) -> APIAction { withRequest { router.action(of: $0, now: Call.now) } }

    func response(_ router: Router = router()) -> HTTPResponse? {
        let action = apiAction(router)
        if case .respond(let response) = action { return response }
        if case .authenticate(let user)? = action.ofFleet { return user.response }
        return nil
    }

    /// The status of the router's response. Nil if the request is valid and leads to another action than a response.
    func status(_ router: Router = router()) -> Int? { response(router)?.status }

    /// Status and text of the router's error: `400 Expected …`. Nil if the request was valid.
    var refusal: String? { refusal() }

    func refusal(_ router: Router = router()) -> String? {
        guard let response = response(router), let error = response.member("error") else { return nil }
        return "\(response.status) \(error)"
    }

    var command: Command? { if case .command(let command)? = apiAction().ofFleet { command } else { nil } }

    var action: Command.Action? { command?.action }

    var storeQuery: Query? { if case .query(let query, by: _)? = apiAction().ofFleet { query } else { nil } }
}

extension HTTPResponse {
    /// A string member of the response's JSON. Nil if there is none.
    func member(_ name: String) -> String? {
        var text: String?
        body.withUnsafeBytes { bytes in
            try? JSONReader.object(bytes) { key, value in
                if key.string == name { text = value.string }
            }
        }
        return text
    }

    var text: String { String(decoding: body, as: UTF8.self) }
}
