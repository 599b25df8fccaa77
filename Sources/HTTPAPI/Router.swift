import Access
import Console
import Crypto
import HTTP
import PusherProtocol

/// Routes requests: authenticates and checks them, and maps them to actions, without I/O. One instance per thread,
/// because threads cannot share an ``HMACKey``.
///
/// A request is routed in two steps, so that nothing is stored for a client before it is authenticated: the head with
/// ``route(head:now:)``, and the complete request with ``action(of:request:)``.
package struct Router {
    private let metricsToken: String
    /// The texts of all ``EndpointPattern``s, by index.
    package var patterns: [String] { fleet.patterns }
    private let pusher: PusherRouter
    private let fleet: FleetRouter
    /// Nil if the console is off: its paths are 404.
    private let console: ConsolePage?

    /// - Parameters:
    ///   - apps: all applications, in the configured order.
    ///   - metricsToken: the Bearer token of `/metrics`. If empty, requests without a JWT are permitted from this
    ///     machine only.
    ///   - replayGuard: records the signatures of accepted requests to Pusher's HTTP API, to reject repeated ones. Nil
    ///     to accept repeated requests.
    package init(
        apps: [Application], metricsToken: String, fleet: FleetRouter, console: ConsolePage? = nil,
        replayGuard: ReplayGuard? = nil
    ) {
        pusher = PusherRouter(apps: Applications(apps), replayGuard: replayGuard)
        self.fleet = fleet
        self.console = console
        self.metricsToken = metricsToken
    }

    /// Routes a request whose head is complete. The checks run in the order that docs/api.md documents.
    /// - Parameters:
    ///   - request: a request without its body. It need not stay valid after the call.
    ///   - now: seconds since 1970.
    /// - Returns: the decision, and the pattern of the path, also of a refused request.
    package func route(head request: HTTPRequest, now: Int64) -> (routing: Routing, pattern: EndpointPattern) {
        let path = PathSegments(request.rawPath)
        guard let envelope = Envelope(rawPath: request.rawPath)?.at(now * 1_000) else {
            let target = FixedTarget(path)
            return (
                Self.answering(nil) { () throws(APIError) in try route(head: request, path, target, now) }, target.pattern
            )
        }
        let target = fleet.target(of: Array(path))
        return (
            Self.answering(envelope) { () throws(APIError) in
                try fleet.route(head: request, target, envelope, now: now)
            }, target.pattern
        )
    }

    /// The pattern of a path, for a request that is not routed.
    package func pattern(of request: HTTPRequest) -> EndpointPattern {
        let path = PathSegments(request.rawPath)
        return envelope(of: request) == nil ? FixedTarget(path).pattern : fleet.target(of: Array(path)).pattern
    }

    private static func answering(_ envelope: Envelope?, _ route: () throws(APIError) -> Routing) -> Routing {
        do throws(APIError) {
            return try route()
        } catch {
            return .respond(error.response(envelope))
        }
    }

    /// The action of a complete request. An invalid body leads to ``APIAction/respond(_:)`` with the error.
    /// - Parameters:
    ///   - route: the result for this request's head.
    ///   - request: only the body is read. It must not exceed ``RoutedRequest/bodyBytesMax``.
    package func action(of route: RoutedRequest, request: HTTPRequest) -> APIAction {
        switch route.target {
        case .action(let action): action
        case .pusherQuery(let action, let signed): pusher.check(request.body, of: signed) ?? action
        case .pusher(let target): pusher.action(of: target, request.body)
        case .fleet(let target, let head):
            head.withRequest(body: request.body) { fleet.action(of: target, $0, route.envelope) }
        }
    }

    /// The sender of a request to the fleet's API; nil if its token is missing or invalid.
    /// - Parameter now: seconds since 1970.
    package func identity(of request: HTTPRequest, now: Int64) -> Identity? { fleet.identity(of: request, now: now) }

    /// The JSON envelope of errors for this request. Nil outside the fleet's API, where errors are lines of plain text.
    package func envelope(of request: HTTPRequest) -> Envelope? { Envelope(rawPath: request.rawPath) }

    /// The headers that let a web page read the response (see ``CORS``). Empty unless the page's origin is allowed.
    package func crossOriginHeaders(for request: HTTPRequest) -> HTTPHeaders {
        guard let origin = request.origin else { return [:] }
        let app = envelope(of: request) == nil ? pusher.app(of: PathSegments(request.rawPath)) : fleet.app
        guard let origins = app?.origins, origins.allows(origin) else { return [:] }
        return CORS.headers(for: origin, isNamed: origins.lists(explicitly: origin))
    }

    private func route(
        head request: HTTPRequest, _ path: PathSegments, _ target: FixedTarget, _ now: Int64
    ) throws(APIError) -> Routing {
        switch target {
        case .pusher(let endpoint):
            var rest = path
            _ = rest.next()  // apps
            return try pusher.route(head: request, rest, endpoint, now: now)
        case .pusherByKey(let endpoint): return try pusher.route(head: request, keyed: endpoint, now: now)
        case .path(.liveness):
            try Self.checkIsGet(request)
            return .route(RoutedRequest(.liveness))
        case .path(.readiness):
            try Self.checkIsGet(request)
            return .route(RoutedRequest(.readiness))
        case .path(.metrics):
            let routing = try metrics(request, now)
            try Self.checkIsGet(request)
            return routing
        case .path(.console), .path(.consoleFile):
            let file = UnsafeRawBufferPointer(rebasing: request.rawPath.dropFirst("/console".utf8.count))
            guard let page = console?.response(for: String(PercentDecoding.text(file, .path).drop { $0 == "/" })) else {
                throw Self.unknown(request)
            }
            try Self.checkIsGet(request)
            return .respond(page)
        case .path(.webSocket):
            return .respond(
                .text(426, "This is a WebSocket endpoint", headers: ["Connection": "Upgrade", "Upgrade": "websocket"]))
        case .path: throw Self.unknown(request)
        }
    }

    /// Permits requests with the metrics token, or with a JWT or session cookie of role admin or ops. If no metrics token
    /// is configured, also permits requests from this machine.
    private func metrics(_ request: HTTPRequest, _ now: Int64) throws(APIError) -> Routing {
        if metricsToken.isEmpty, request.isLoopback { return .route(RoutedRequest(.metrics)) }
        if let authorization = request.authorization, !metricsToken.isEmpty,
            ConstantTime.equal(authorization, "Bearer " + metricsToken)
        {
            return .route(RoutedRequest(.metrics))
        }
        if let routing = try fleet.metrics(request, now: now) { return routing }
        guard !metricsToken.isEmpty else {
            throw APIError(403, "Metrics require a JWT of role admin or ops, or metrics.token to be set")
        }
        throw APIError(
            401, "Expected Authorization: Bearer and the value of metrics.token, or Bearer and a JWT of role admin or ops",
            headers: ["WWW-Authenticate": "Bearer"])
    }

    /// - Throws: ``APIError`` with 405 unless the method is GET or HEAD.
    private static func checkIsGet(_ request: HTTPRequest) throws(APIError) {
        guard request.method == .get || request.method == .head else { throw .methodNotAllowed("GET, HEAD") }
    }

    /// 404: no endpoint has this path.
    static func unknown(_ request: HTTPRequest) -> APIError { APIError(404, "Unknown path: \(request.path.clipped)") }
}
