import Crypto
import HTTP
import PusherProtocol

/// Routes requests: authenticates and checks them, and maps them to actions, without I/O. One instance per thread,
/// because threads cannot share an ``HMACKey``.
///
/// A request is routed in two steps, so that nothing is stored for a client before it is authenticated: the head with
/// ``route(head:now:)``, and the complete request with ``RoutedRequest/action``.
package struct Router {
    private let metricsToken: String
    /// The texts of all ``EndpointPattern``s, by index.
    package let patterns: [String]
    private let apps: Applications
    private let pusher: PusherRouter
    private let routerExtension: (any RouterExtension)?

    /// - Parameters:
    ///   - apps: all applications, in the configured order.
    ///   - metricsToken: the Bearer token of `/metrics`. If empty, requests are permitted from this machine only.
    ///   - pathPrefix: what a proxy may have removed from the paths of requests, such as `/ws`; empty: nothing.
    ///   - replayGuard: records the signatures of accepted requests to Pusher's HTTP API, to reject repeated ones. Nil
    ///     to accept repeated requests.
    ///   - patterns: with those of the extension.
    ///   - extension: nil: there are no other paths than those of the Pusher server.
    package init(
        apps: [Application], metricsToken: String, pathPrefix: String = "", replayGuard: ReplayGuard? = nil,
        patterns: EndpointPatterns = EndpointPatterns(), extension routerExtension: (any RouterExtension)? = nil
    ) {
        self.apps = Applications(apps)
        pusher = PusherRouter(apps: self.apps, pathPrefix: pathPrefix, replayGuard: replayGuard)
        self.metricsToken = metricsToken
        self.patterns = patterns.texts
        self.routerExtension = routerExtension
    }

    /// Routes a request whose head is complete. The checks run in the order that docs/api.md documents.
    /// - Parameters:
    ///   - request: a request without its body. It need not stay valid after the call.
    ///   - now: seconds since 1970.
    /// - Returns: the decision, and the pattern of the path, also of a refused request.
    package func route(head request: HTTPRequest, now: Int64) -> (routing: Routing, pattern: EndpointPattern) {
        let path = PathSegments(request.rawPath)
        let target = FixedTarget(path)
        if target.isUnknown,
            let routed = routerExtension?.route(head: request, now: now, preflight: preflight)
        {
            return routed
        }
        do throws(APIError) {
            if request.isPreflight { return (.respond(try preflight(request)), target.pattern) }
            return (try route(head: request, path, target, now), target.pattern)
        } catch {
            return (.respond(error.response(nil)), target.pattern)
        }
    }

    /// Whether a request with `Upgrade: websocket` opens a WebSocket. Elsewhere the field is ignored (RFC 9110 section 7.8):
    /// some proxies add it to each request.
    package func opensWebSocket(_ request: HTTPRequest) -> Bool {
        var path = PathSegments(request.rawPath)
        return path.count > 1 && path.next().map { $0 == "app" } == true
    }

    /// The pattern of a path, for a request that is not routed.
    package func pattern(of request: HTTPRequest) -> EndpointPattern {
        let target = FixedTarget(PathSegments(request.rawPath))
        return (target.isUnknown ? routerExtension?.pattern(of: request) : nil) ?? target.pattern
    }

    /// The format of errors for this request. Nil for paths whose errors are lines of plain text.
    package func errorFormat(of request: HTTPRequest) -> (any ErrorFormat)? {
        FixedTarget(PathSegments(request.rawPath)).isUnknown ? routerExtension?.errorFormat(of: request) : nil
    }

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

    /// The application whose origins count for a path. All of them, that of the extension first, if the path is of none:
    /// what is there contains no data of an application.
    private func applications(of request: HTTPRequest) -> [Application] {
        if let routerExtension, errorFormat(of: request) != nil { return [routerExtension.app] }
        var path = PathSegments(request.rawPath)
        let (first, second) = (path.next(), path.next())
        var app: Application?
        if let first, let second {
            if first == "apps" { app = apps.withID(second) }
            if first == "app" { app = apps.withKey(second.text) }
        }
        return app.map { [$0] } ?? (routerExtension.map { [$0.app] } ?? []) + apps.all
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
        case .path(.liveness): return try health(request, .liveness)
        case .path(.readiness): return try health(request, .readiness)
        case .path(.metrics):
            let routing = try metrics(request, now)
            try request.checkIsGet()
            return routing
        case .path(.webSocket):
            return .respond(
                .text(426, "This is a WebSocket endpoint", headers: ["Connection": "Upgrade", "Upgrade": "websocket"]))
        case .path: throw Self.unknown(request)
        }
    }

    private func health(_ request: HTTPRequest, _ action: APIAction) throws(APIError) -> Routing {
        if request.method == .options { return .respond(Self.options) }
        try request.checkIsGet()
        return .route(RoutedRequest { _ in action })
    }

    /// Permits requests with the metrics token, or with credentials that the extension accepts. If no metrics token is
    /// configured, also permits requests from this machine.
    private func metrics(_ request: HTTPRequest, _ now: Int64) throws(APIError) -> Routing {
        if metricsToken.isEmpty, request.isOfThisMachine { return Self.metrics }
        if let authorization = request.authorization, !metricsToken.isEmpty,
            ConstantTime.equal(authorization, "Bearer " + metricsToken)
        {
            return Self.metrics
        }
        if let routing = try routerExtension?.metrics(request, now: now) { return routing }
        let others = routerExtension?.metricsCredentials
        guard !metricsToken.isEmpty else {
            throw APIError(
                403,
                "Metrics require \(others.map { $0 + ", or " } ?? "")metrics.token to be set; without it, only requests from this "
                    + "machine to localhost, 127.0.0.1 or [::1] need none")
        }
        throw APIError(
            401,
            "Expected Authorization: Bearer and the value of metrics.token"
                + (others.map { ", or Bearer and " + $0 } ?? ""),
            headers: ["WWW-Authenticate": "Bearer"])
    }

    /// The routing of a permitted request for `/metrics`.
    package static var metrics: Routing { .route(RoutedRequest { _ in .metrics }) }

    /// The response to OPTIONS of the paths that anybody may ask (RFC 9110 section 9.3.7): some load balancers ask so whether
    /// a server lives.
    private static let options = HTTPResponse(
        204, contentType: "text/plain", body: [], headers: ["Allow": "GET, HEAD, OPTIONS"])

    /// 404: no endpoint has this path.
    package static func unknown(_ request: HTTPRequest) -> APIError { APIError(404, "Unknown path: \(request.path.clipped)") }
}

extension FixedTarget {
    fileprivate var isUnknown: Bool { if case .path(.other) = self { true } else { false } }
}

extension HTTPRequest {
    /// Whether a program on this machine has sent the request, and not a browser for a page of somebody else: that has an
    /// `Origin` or, if it believes the page to be of this server because the page's name leads to this machine (DNS rebinding),
    /// another `Host`.
    package var isOfThisMachine: Bool {
        guard isLoopback, origin == nil, let host = rawField(.host) else { return false }
        return HostAndPort(Array(host)[...])?.isLoopback == true
    }

    /// - Throws: ``APIError`` with 405 unless the method is GET or HEAD.
    package func checkIsGet() throws(APIError) {
        guard method == .get || method == .head else { throw .methodNotAllowed("GET, HEAD") }
    }

    /// The bytes of a header field's first line. Nil if the request does not have the field.
    package func rawField(_ field: Field) -> UnsafeRawBufferPointer? { head[field].map { bytes[$0] } }
}
