import Crypto
import FanOut
import FleetRules
import HTTP
import PusherProtocol

/// What a request asks of the node, once it is known to be allowed.
package enum APIAction {
    /// Nothing: this is the answer.
    case respond(HTTPResponse)
    /// Publish all, or nothing and 503 when a mailbox has no room.
    case publish(PublishRequest, app: AppIndex)
    /// Look something up in the hub.
    case query(ChannelQuery, app: AppIndex)
    /// Close the signed-in connections of a user, then answer 200 `{}` (J1).
    case terminate(userID: String, app: AppIndex)
    /// Do something to the fleet, durably; the answer comes from the store.
    case command(Command)
    /// Look something up in the store; the answer comes from there.
    case fleetQuery(Query)
    /// Sign for a channel, if the hub agrees.
    case authorize(ChannelAuthorization)
    /// Ask again once this issuer's keys have been fetched.
    case needsKeys(issuer: Int)
    /// What the node does, for people who watch it.
    case stats
    /// How pushes to phones fare: lanes, their state, depth and last error.
    case pushReport
    /// Whether this node takes clients.
    case readiness
    /// The counters.
    case metrics
}

/// From a request to an outcome, without sockets. One instance per thread: signing keys are not shared.
package struct Router {
    private let apps: [Application]
    private let metricsToken: String
    private let signature = RequestSignature()
    private let fleet: FleetRouter

    /// - Parameters:
    ///   - apps: all applications, in the configured order.
    ///   - metricsToken: the Bearer token of `/metrics`; empty: this machine only.
    package init(apps: [Application], metricsToken: String, fleet: FleetRouter) {
        self.apps = apps
        self.fleet = fleet
        self.metricsToken = metricsToken
    }

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

    /// How answers to this request word errors; nil outside the fleet's API, where they are lines of text.
    package func envelope(of request: HTTPRequest) -> Envelope? { Envelope(Self.split(request.path)) }

    /// The headers that let a web page read the answer; none unless its origin may (see ``CORS``).
    package func crossOriginHeaders(for request: HTTPRequest) -> [String: String] {
        guard let origin = request.origin else { return [:] }
        let path = Self.split(request.path)
        guard let origins = Envelope(path) == nil ? app(of: path)?.origins : fleet.origins, origins.allow(origin) else {
            return [:]
        }
        return CORS.headers(for: origin, isNamed: origins.lists(origin))
    }

    private func route(_ request: HTTPRequest, _ now: Int64) throws(APIError) -> APIAction {
        guard request.path.hasPrefix("/") else { throw Self.unknown(request) }
        let path = Self.split(request.path)
        if Envelope(path) != nil { return try fleet.action(of: request, path, now: now) }
        if request.isLengthMissing { throw APIError(411, "Content-Length is required") }
        if let most = request.bodyBytesMax { throw APIError(413, "The body exceeds the allowed maximum (\(most) bytes)") }
        switch (path.count, path.first) {
        case (1, "healthz"): return refusalUnlessGet(request) ?? .respond(.text(200, "ok"))
        case (1, "readyz"): return refusalUnlessGet(request) ?? .readiness
        case (1, "metrics"):
            if let refusal = refusalUnlessGet(request) { return refusal }
            return try metrics(request, now)
        case (2, "app"):
            return .respond(
                .text(426, "This is a WebSocket endpoint", headers: ["Upgrade": "websocket", "Connection": "Upgrade"]))
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
            let order = PublishRequest(events: [try EventRequest(request.body, rules: app.rules)], isBatch: false)
            return .publish(order, app: app.index)
        case .batchEvents:
            let order = PublishRequest(events: try BatchRequest(request.body, rules: app.rules).events, isBatch: true)
            return .publish(order, app: app.index)
        case .channels: return .query(try channelsQuestion(request), app: app.index)
        case .channel(let text): return .query(try channelQuestion(text, request, app.limits), app: app.index)
        case .users(let text): return .query(try usersQuestion(text, app.limits), app: app.index)
        case .terminate(let userID): return .terminate(userID: userID, app: app.index)
        }
    }

    /// The paths behind `/apps/ID`.
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
            // A user's id may hold what a path is split at; the library has decoded it already.
            case (3..., "users", "terminate_connections"): self = .terminate(path[1..<(path.count - 1)].joined(separator: "/"))
            default: return nil
            }
        }
    }

    private func channelsQuestion(_ request: HTTPRequest) throws(APIError) -> ChannelQuery {
        let prefix = request.first("filter_by_prefix") ?? ""
        let info = try ChannelAttributes(request.first("info") ?? "", allowed: [.userCount, .subscriptionCount])
        guard !info.contains(.userCount) || prefix.hasPrefix("presence-") else {
            throw APIError(400, "user_count may only be requested for presence channels: set filter_by_prefix to presence-")
        }
        return .channels(prefix: prefix, info)
    }

    private func channelQuestion(_ text: String, _ request: HTTPRequest, _ limits: Limits) throws(APIError) -> ChannelQuery {
        let name = try channelName(text, limits)
        let info = try ChannelAttributes(request.first("info") ?? "", allowed: [.userCount, .subscriptionCount, .cache])
        guard !info.contains(.userCount) || name.isPresence else {
            throw APIError(400, "Cannot retrieve the user count unless the channel is a presence channel")
        }
        return .channel(name, info)
    }

    private func usersQuestion(_ text: String, _ limits: Limits) throws(APIError) -> ChannelQuery {
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
        guard let app = app(of: path), app.origins.allow(request.origin) else {
            throw APIError(403, "This origin may not call this application: see allowed_origins")
        }
        return .respond(CORS.preflight)
    }

    private func app(of path: [Substring]) -> Application? {
        guard path.count >= 2, path[0] == "apps" else { return nil }
        return apps.first { $0.id == path[1] }
    }

    // MARK: The rest

    /// For whoever has the metrics token, or a token of his own as admin or ops; without a metrics token, for this machine, too.
    private func metrics(_ request: HTTPRequest, _ now: Int64) throws(APIError) -> APIAction {
        if metricsToken.isEmpty, request.isLoopback { return .metrics }
        if let authorization = request.authorization {
            if !metricsToken.isEmpty, ConstantTime.equal(authorization, "Bearer " + metricsToken) { return .metrics }
            if let outcome = try fleet.metrics(request, now: now) { return outcome }
        }
        guard !metricsToken.isEmpty else { throw APIError(403, "Metrics are served to this machine only: set metrics.token") }
        throw APIError(
            401, "Expected Authorization: Bearer with the token of metrics.token, or an admin's or ops' JWT",
            headers: ["WWW-Authenticate": "Bearer"])
    }

    /// The refusal of anything but GET and HEAD; nil for these.
    private func refusalUnlessGet(_ request: HTTPRequest) -> APIAction? {
        request.method == .get || request.method == .head ? nil : notAllowed("GET, HEAD")
    }

    private func notAllowed(_ allowed: String) -> APIAction {
        .respond(.text(405, "Method not allowed: use \(allowed)", headers: ["Allow": allowed]))
    }

    private static func unknown(_ request: HTTPRequest) -> APIError { APIError(404, "Unknown path: \(request.path.clipped)") }

    /// Bytes of what stands between two slashes, when it is not ASCII: the longest id of a user.
    private static let segmentBytesMax = Limits.userIDLength * 4

    /// What is too long to be anything becomes something that is nothing: comparing it could take long.
    private static func split(_ path: String) -> [Substring] {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst().map { segment in
            segment.count <= segmentBytesMax || segment.allSatisfy { $0 < 0x80 } ? Substring(segment) : "\u{FFFD}"
        }
    }
}
