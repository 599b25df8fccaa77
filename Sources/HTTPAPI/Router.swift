import Access
import Console
import Crypto
import HTTP
import JWT
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
    private let apps: Applications
    private let pusher: PusherRouter
    private let fleet: FleetRouter
    /// Nil if the console is off: its paths are 404.
    private let console: ConsolePage?

    /// - Parameters:
    ///   - apps: all applications, in the configured order.
    ///   - metricsToken: the Bearer token of `/metrics`. If empty, requests without a JWT are permitted from this
    ///     machine only.
    ///   - pathPrefix: what a proxy may have removed from the paths of requests, such as `/ws`; empty: nothing.
    ///   - replayGuard: records the signatures of accepted requests to Pusher's HTTP API, to reject repeated ones. Nil
    ///     to accept repeated requests.
    package init(
        apps: [Application], metricsToken: String, fleet: FleetRouter, console: ConsolePage? = nil,
        pathPrefix: String = "", replayGuard: ReplayGuard? = nil
    ) {
        self.apps = Applications(apps)
        pusher = PusherRouter(apps: self.apps, pathPrefix: pathPrefix, replayGuard: replayGuard)
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
                Self.answering(nil) { () throws(APIError) in
                    if request.isPreflight { return .respond(try preflight(request)) }
                    return try route(head: request, path, target, now)
                }, target.pattern
            )
        }
        let target = fleet.target(of: Array(path))
        return (
            Self.answering(envelope) { () throws(APIError) in
                if request.isPreflight, !target.isOff { return .respond(try preflight(request)) }
                return try fleet.route(head: request, target, envelope, now: now)
            }, target.pattern
        )
    }

    /// Routes a request again that has waited for the answer about its opaque token.
    package func route(
        head request: HTTPRequest, now: Int64, with answer: AnsweredToken
    ) -> (routing: Routing, pattern: EndpointPattern) {
        fleet.with(answer) { route(head: request, now: now) }
    }

    /// Whether a request with `Upgrade: websocket` opens a WebSocket. Elsewhere the field is ignored (RFC 9110 section 7.8):
    /// some proxies add it to each request.
    package func opensWebSocket(_ request: HTTPRequest) -> Bool {
        var path = PathSegments(request.rawPath)
        return path.count > 1 && path.next().map { $0 == "app" } == true
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

    // MARK: Web pages of other origins

    /// The headers that let a web page read the response, errors included (see ``CORS``). Empty unless the page's origin is
    /// allowed.
    /// - Parameter request: only its path and its `Origin` are read, if it has them.
    package func crossOriginHeaders(for request: HTTPRequest) -> HTTPHeaders {
        guard let origin = request.origin, let app = applications(of: request).first(where: { $0.origins.allows(origin) })
        else { return [:] }
        return CORS.headers(for: origin, isNamed: app.origins.lists(explicitly: origin))
    }

    /// The response to a preflight: for every path, so that the page can read why its request is refused.
    private func preflight(_ request: HTTPRequest) throws(APIError) -> HTTPResponse {
        guard applications(of: request).contains(where: { $0.origins.allows(request.origin) }) else {
            let reason = AllowedOrigins.explanation(ofRefusing: request.origin) ?? "see allowed_origins"
            throw APIError(403, "This origin may not call this application: \(reason)")
        }
        return CORS.preflight(requesting: request.field(.accessControlRequestHeaders))
    }

    /// The application whose origins count for a path. All of them, that of the fleet first, if the path is of none: what is
    /// there contains no data of an application.
    private func applications(of request: HTTPRequest) -> [Application] {
        if envelope(of: request) != nil { return [fleet.app] }
        var path = PathSegments(request.rawPath)
        let (first, second) = (path.next(), path.next())
        var app: Application?
        if let first, let second {
            if first == "apps" { app = apps.withID(second) }
            if first == "app" { app = apps.withKey(second.text) }
        }
        return app.map { [$0] } ?? [fleet.app] + apps.all
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
        case .path(.liveness), .path(.readiness):
            if request.method == .options { return .respond(Self.options) }
            try Self.checkIsGet(request)
            return .route(RoutedRequest(target.isLiveness ? .liveness : .readiness))
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
        if metricsToken.isEmpty, request.isOfThisMachine { return .route(RoutedRequest(.metrics)) }
        if let authorization = request.authorization, !metricsToken.isEmpty,
            ConstantTime.equal(authorization, "Bearer " + metricsToken)
        {
            return .route(RoutedRequest(.metrics))
        }
        if let routing = try fleet.metrics(request, now: now) { return routing }
        guard !metricsToken.isEmpty else {
            throw APIError(
                403,
                "Metrics require a JWT of role admin or ops, or metrics.token to be set; without it, only requests from this "
                    + "machine to localhost, 127.0.0.1 or [::1] need none")
        }
        throw APIError(
            401, "Expected Authorization: Bearer and the value of metrics.token, or Bearer and a JWT of role admin or ops",
            headers: ["WWW-Authenticate": "Bearer"])
    }

    /// The response to OPTIONS of the paths that anybody may ask (RFC 9110 section 9.3.7): some load balancers ask so whether
    /// a server lives.
    private static let options = HTTPResponse(
        204, contentType: "text/plain", body: [], headers: ["Allow": "GET, HEAD, OPTIONS"])

    /// - Throws: ``APIError`` with 405 unless the method is GET or HEAD.
    private static func checkIsGet(_ request: HTTPRequest) throws(APIError) {
        guard request.method == .get || request.method == .head else { throw .methodNotAllowed("GET, HEAD") }
    }

    /// 404: no endpoint has this path.
    static func unknown(_ request: HTTPRequest) -> APIError { APIError(404, "Unknown path: \(request.path.clipped)") }
}

extension FixedTarget {
    fileprivate var isLiveness: Bool { if case .path(.liveness) = self { true } else { false } }
}

extension HTTPRequest {
    /// Whether a program on this machine has sent the request, and not a browser for a page of somebody else: that has an
    /// `Origin` or, if it believes the page to be of this server because the page's name leads to this machine (DNS rebinding),
    /// another `Host`.
    var isOfThisMachine: Bool {
        guard isLoopback, origin == nil, let host = rawField(.host) else { return false }
        return HostAndPort(Array(host)[...])?.isLoopback == true
    }
}
