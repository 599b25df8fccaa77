import Access
import FleetRules
import HTTP
import HTTPAPI
import JSON
import JWT
import Testing

/// A request to the fleet's API as an app would make it, for a test to spoil.
struct FleetCall {
    static let issuer = TokenIssuer(algorithm: .hs256, keys: .secret("0123456789abcdef0123456789abcdef"))

    var method: HTTPRequest.Method
    var path: String
    var query: [(name: String, value: String)] = []
    var fields: [HTTPRequest.Field: String] = [:]
    var body: [UInt8]
    var isLoopback = false
    var isLengthMissing = false
    var bodyBytesMax: Int?

    /// - Parameter role: of the token it bears; nil: it bears none.
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

    func asking(_ name: String, _ value: String) -> FleetCall {
        var call = self
        call.query.append((name, value))
        return call
    }

    // MARK: What comes of it

    static func router(metricsToken: String = "", origins: [String] = ["*"]) -> Router {
        .example([.example(origins: origins)], metricsToken: metricsToken, issuers: [issuer])
    }

    func withRequest<Value>(_ use: (HTTPRequest) -> Value) -> Value {
        body.withUnsafeBytes { bytes in
            use(
                HTTPRequest(
                    method: method, path: path, query: query, field: { fields[$0] }, correlationID: "c1",
                    isLoopback: isLoopback, body: bytes, isLengthMissing: isLengthMissing, bodyBytesMax: bodyBytesMax))
        }
    }

    func outcome(_ router: Router = router()) -> APIAction { withRequest { router.action(of: $0, now: Call.now) } }

    func response(_ router: Router = router()) -> HTTPResponse? {
        if case .respond(let response) = outcome(router) { response } else { nil }
    }

    /// The status of an answer given at once; nil when the request goes on.
    func status(_ router: Router = router()) -> Int? { response(router)?.status }

    /// The words of a refusal, out of its envelope, with the status before them; nil when the request goes on.
    var refusal: String? {
        guard let response = response(), let error = response.member("error") else { return nil }
        return "\(response.status) \(error)"
    }

    var command: Command? { if case .command(let command) = outcome() { command } else { nil } }

    var deed: Command.Action? { command?.action }

    var enquiry: Query? { if case .fleetQuery(let enquiry) = outcome() { enquiry } else { nil } }
}

extension HTTPResponse {
    /// A member of the answer's JSON that is a string.
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
