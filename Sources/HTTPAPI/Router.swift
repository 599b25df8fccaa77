import Crypto
import FanOut
import FleetRules
import HTTP
import PusherProtocol

/// The action that the router selects for a request. The gateway carries it out.
package enum APIAction {
    /// Send this response.
    case respond(HTTPResponse)
    /// Publish all events. If the mailbox of an event loop is full, publish none of them and respond 503.
    case publish(PublishRequest, app: AppIndex)
    /// Look up channels and their subscribers in the hub.
    case query(ChannelQuery, app: AppIndex)
    /// Close a user's signed-in connections, then respond 200 `{}` (protocol point J1).
    case terminate(userID: String, app: AppIndex)
    /// Change the fleet's state durably. The response is that of the store.
    case command(Command)
    /// Read the fleet's state. The response is that of the store.
    case fleetQuery(Query)
    /// Sign a channel subscription if the hub permits it.
    case authorize(ChannelAuthorization)
    /// Fetch this issuer's keys, then route the request again.
    case needsKeys(issuer: Int)
    /// `GET /api/ops/stats`: counters of the gateway.
    case stats
    /// `GET /api/ops/push`: state, depth and last error of each push lane.
    case pushReport
    /// `GET /healthz`: whether all threads make progress.
    case liveness
    /// `GET /readyz`: whether the gateway accepts clients.
    case readiness
    /// `GET /metrics`.
    case metrics
}

/// Routes requests: checks them and maps them to actions, without I/O. One instance per thread, because threads cannot
/// share an ``HMACKey``.
package struct Router {
    private let apps: [Application]
    private let metricsToken: String
    private let signature = RequestSignature()
    private let fleet: FleetRouter

    /// - Parameters:
    ///   - apps: all applications, in the configured order.
    ///   - metricsToken: the Bearer token of `/metrics`. If empty, requests without a JWT are permitted from this
    ///     machine only.
    package init(apps: [Application], metricsToken: String, fleet: FleetRouter) {
        self.apps = apps
        self.fleet = fleet
        self.metricsToken = metricsToken
    }

    /// Routes a request. An invalid request leads to ``APIAction/respond(_:)`` with the error.
    /// - Parameter now: seconds since 1970.
    package func action(of request: HTTPRequest, now: Int64) -> APIAction {
        do throws(APIError) {
            return try route(request, now)
        } catch {
            if let envelope = envelope(of: request) {
                return .respond(envelope.error(error))
            }
            return .respond(.text(error.status, error.text, headers: error.headers))
        }
    }

    /// The JSON envelope of errors for this request. Nil outside the fleet's API, where errors are lines of plain text.
    package func envelope(of request: HTTPRequest) -> Envelope? { Envelope(Self.split(request.path)) }

    /// The headers that let a web page read the response (see ``CORS``). Empty unless the page's origin is allowed.
    package func crossOriginHeaders(for request: HTTPRequest) -> HTTPHeaders {
        guard let origin = request.origin else { return [:] }
        let path = Self.split(request.path)
        guard let origins = Envelope(path) == nil ? app(of: path)?.origins : fleet.origins, origins.allows(origin) else {
            return [:]
        }
        return CORS.headers(for: origin, isNamed: origins.lists(explicitly: origin))
    }

    private func route(_ request: HTTPRequest, _ now: Int64) throws(APIError) -> APIAction {
        guard request.path.hasPrefix("/") else { throw Self.unknown(request) }
        let path = Self.split(request.path)
        if Envelope(path) != nil { return try fleet.action(of: request, path, now: now) }
        if request.isLengthMissing { throw APIError(411, "Content-Length is required") }
        if let limit = request.exceededBodyLimit {
            throw APIError(413, "The body exceeds the allowed maximum (\(limit) bytes)")
        }
        switch (path.count, path.first) {
        case (1, "healthz"): return rejectUnlessGet(request) ?? .liveness
        case (1, "readyz"): return rejectUnlessGet(request) ?? .readiness
        case (1, "metrics"):
            if let response = rejectUnlessGet(request) { return response }
            return try metrics(request, now)
        case (2, "app"):
            return .respond(
                .text(426, "This is a WebSocket endpoint", headers: ["Connection": "Upgrade", "Upgrade": "websocket"]))
        case (3..., "apps"): return try appRoute(path, request, now)
        default: throw Self.unknown(request)
        }
    }

    // MARK: /apps/ID/…

    private func appRoute(_ path: [Substring], _ request: HTTPRequest, _ now: Int64) throws(APIError) -> APIAction {
        let method: HTTPRequest.Method = path[2].hasPrefix("channels") ? .get : .post
        guard let route = AppRoute(path.dropFirst(2)) else { throw Self.unknown(request) }
        if request.method == .options, request.origin != nil { return try preflight(path, request) }
        guard request.method == method || (request.method == .head && method == .get) else { return notAllowed(method.rawValue) }
        guard let app = app(of: path) else { throw APIError(404, "Unknown application \(String(path[1]).clipped)") }
        try signature.check(request, for: app, now: now)
        guard app.isEnabled else { throw APIError(403, "Application \(app.id) is disabled") }
        switch route {
        case .events:
            let event = try EventRequest(request.body, rules: app.rules)
            return .publish(PublishRequest(events: [event], isBatch: false), app: app.index)
        case .batchEvents:
            let batch = try BatchRequest(request.body, rules: app.rules)
            return .publish(PublishRequest(events: batch.events, isBatch: true), app: app.index)
        case .channels: return .query(try channelsQuery(request), app: app.index)
        case .channel(let text): return .query(try channelQuery(text, request, app.limits), app: app.index)
        case .users(let text): return .query(try usersQuery(text, app.limits), app: app.index)
        case .terminate(let userID): return .terminate(userID: userID, app: app.index)
        }
    }

    /// The paths below `/apps/ID`.
    private enum AppRoute {
        case events
        case batchEvents
        case channels
        case channel(String)
        case users(String)
        case terminate(String)

        init?(_ path: ArraySlice<Substring>) {
            let path = Array(path)
            switch (path.count, path.first, path.last) {
            case (1, "events", _): self = .events
            case (1, "batch_events", _): self = .batchEvents
            case (1, "channels", _): self = .channels
            case (2, "channels", let name?): self = .channel(String(name))
            case (3, "channels", "users"): self = .users(String(path[1]))
            // The path is percent-decoded before it is split, so a user id that contains slashes arrives in parts.
            case (3..., "users", "terminate_connections"): self = .terminate(path[1..<(path.count - 1)].joined(separator: "/"))
            default: return nil
            }
        }
    }

    private func channelsQuery(_ request: HTTPRequest) throws(APIError) -> ChannelQuery {
        let prefix = request.queryValue("filter_by_prefix") ?? ""
        let info = try ChannelAttributes(request.queryValue("info") ?? "", allowed: [.userCount, .subscriptionCount])
        guard !info.contains(.userCount) || prefix.hasPrefix("presence-") else {
            throw APIError(400, "user_count may only be requested for presence channels: set filter_by_prefix to presence-")
        }
        return .channels(prefix: prefix, info)
    }

    private func channelQuery(_ text: String, _ request: HTTPRequest, _ limits: Limits) throws(APIError) -> ChannelQuery {
        let name = try channelName(text, limits)
        let info = try ChannelAttributes(request.queryValue("info") ?? "", allowed: [.userCount, .subscriptionCount, .cache])
        guard !info.contains(.userCount) || name.isPresence else {
            throw APIError(400, "Cannot retrieve the user count unless the channel is a presence channel")
        }
        return .channel(name, info)
    }

    private func usersQuery(_ text: String, _ limits: Limits) throws(APIError) -> ChannelQuery {
        let name = try channelName(text, limits)
        guard name.isPresence else { throw APIError(400, "Users can only be retrieved for presence channels") }
        return .users(name)
    }

    private func channelName(_ text: String, _ limits: Limits) throws(APIError) -> ChannelName {
        guard let name = ChannelName(text, lengthMax: limits.nameLength) else {
            throw APIError(400, "Invalid channel name \(text.clipped)")
        }
        return name
    }

    private func preflight(_ path: [Substring], _ request: HTTPRequest) throws(APIError) -> APIAction {
        guard let app = app(of: path), app.origins.allows(request.origin) else {
            throw APIError(403, "This origin may not call this application: see allowed_origins")
        }
        return .respond(CORS.preflight)
    }

    private func app(of path: [Substring]) -> Application? {
        guard path.count >= 2, path[0] == "apps" else { return nil }
        return apps.first { $0.id == path[1] }
    }

    // MARK: Metrics

    /// Permits requests with the metrics token, or with a JWT of role admin or ops. If no metrics token is configured,
    /// also permits requests from this machine.
    private func metrics(_ request: HTTPRequest, _ now: Int64) throws(APIError) -> APIAction {
        if metricsToken.isEmpty, request.isLoopback { return .metrics }
        if let authorization = request.authorization {
            if !metricsToken.isEmpty, ConstantTime.equal(authorization, "Bearer " + metricsToken) { return .metrics }
            if let action = try fleet.metrics(request, now: now) { return action }
        }
        guard !metricsToken.isEmpty else {
            throw APIError(403, "Metrics require a JWT of role admin or ops, or metrics.token to be set")
        }
        throw APIError(
            401, "Expected Authorization: Bearer and the value of metrics.token, or Bearer and a JWT of role admin or ops",
            headers: ["WWW-Authenticate": "Bearer"])
    }

    /// The 405 response, or nil if the method is GET or HEAD.
    private func rejectUnlessGet(_ request: HTTPRequest) -> APIAction? {
        request.method == .get || request.method == .head ? nil : notAllowed("GET, HEAD")
    }

    private func notAllowed(_ allowed: String) -> APIAction {
        .respond(.text(405, "Method not allowed: use \(allowed)", headers: ["Allow": allowed]))
    }

    private static func unknown(_ request: HTTPRequest) -> APIError { APIError(404, "Unknown path: \(request.path.clipped)") }

    /// The maximum length of a path segment that is not ASCII, in bytes: that of the longest user id, whose characters
    /// have up to 4 bytes each.
    private static let segmentBytesMax = Limits.userIDLength * 4

    /// Splits a path at slashes. A non-ASCII segment longer than ``segmentBytesMax`` is replaced by U+FFFD, which
    /// matches nothing: comparing long strings by canonical equivalence can be slow.
    private static func split(_ path: String) -> [Substring] {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst().map { segment in
            segment.count <= segmentBytesMax || segment.allSatisfy { $0 < 0x80 } ? Substring(segment) : "\u{FFFD}"
        }
    }
}
