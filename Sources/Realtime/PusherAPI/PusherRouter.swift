import FanOut
import HTTP
import PusherProtocol

/// Authenticates requests to Pusher's HTTP API, `/apps/ID/…`, and maps them to actions. One instance per thread.
struct PusherRouter {
    let apps: Applications
    private let signature: RequestSignature

    /// - Parameters:
    ///   - pathPrefix: what requests may have signed in front of their path; empty: nothing.
    ///   - replayGuard: nil to accept repeated requests.
    init(apps: Applications, pathPrefix: String, replayGuard: ReplayGuard?) {
        self.apps = apps
        signature = RequestSignature(pathPrefix: pathPrefix, replayGuard: replayGuard)
    }

    /// Checks a request's head: 404 for an unknown application, because without its secret no signature can be checked;
    /// then 401, 403, 404 (path), 405.
    /// - Parameters:
    ///   - path: the segments after `apps`, at least two.
    ///   - endpoint: nil if no endpoint has the path.
    ///   - now: seconds since 1970.
    func route(
        head request: HTTPRequest, _ path: PathSegments, _ endpoint: PusherEndpoint?, now: Int64
    ) throws(APIError) -> Routing {
        var path = path
        guard let id = path.next() else { throw Router.unknown(request) }
        let app = apps.withID(id)
        guard let app else { throw APIError(404, "Unknown application \(id.text.clipped)") }
        return try route(head: request, app, endpoint, now)
    }

    /// Checks the head of a request whose path has no `/apps/ID`: its key names the application.
    /// - Parameter now: seconds since 1970.
    func route(head request: HTTPRequest, keyed endpoint: PusherEndpoint, now: Int64) throws(APIError) -> Routing {
        let app = apps.withKey(request.queryValue("auth_key") ?? "")
        guard let app else { throw APIError(401, "Unknown auth_key") }
        return try route(head: request, app, endpoint, now)
    }

    private func route(
        head request: HTTPRequest, _ app: Application, _ endpoint: PusherEndpoint?, _ now: Int64
    ) throws(APIError) -> Routing {
        let signed = try signature.check(request, for: app, now: now)
        guard app.isEnabled else { throw APIError(403, "Application \(app.id) is disabled") }
        guard let endpoint else { throw Router.unknown(request) }
        try endpoint.checkMethod(request.method)
        if let bytes = endpoint.bodyBytesMax(app.limits) {
            return .route(RoutedRequest(bodyBytesMax: bytes) { action(of: endpoint, app, signed, $0) })
        }
        let lookUp = responding { () throws(APIError) in .query(try query(endpoint, request, app), app: app.index) }
        // A query needs no body, but its signature may cover one, usually the empty one.
        guard signed.bodyDigest == nil else {
            return .route(
                RoutedRequest { body in
                    responding { () throws(APIError) in
                        try accept(signed, body)
                        return lookUp
                    }
                })
        }
        try signature.accept(signed)
        return .route(RoutedRequest { _ in lookUp })
    }

    /// The action of a request whose body is complete.
    private func action(
        of endpoint: PusherEndpoint, _ app: Application, _ signed: SignedHead, _ body: UnsafeRawBufferPointer
    ) -> APIAction {
        responding { () throws(APIError) in
            try accept(signed, body)
            switch endpoint {
            case .events:
                let event = try EventRequest(body, rules: app.rules)
                return .publish(PublishRequest(events: [event], isBatch: false), app: app.index)
            case .batchEvents:
                let batch = try EventBatchRequest(body, rules: app.rules)
                return .publish(PublishRequest(events: batch.events, isBatch: true), app: app.index)
            case .terminate(let userID):
                // Official SDKs refuse the colon in the ids of the fleet's users.
                let aliased = app.rules.channels?.userID(aliasedBy: userID)
                return .terminate(userIDs: [userID] + (aliased.map { [$0] } ?? []), app: app.index)
            case .channels, .channel, .users: preconditionFailure("a query was routed as a request with a body")
            }
        }
    }

    /// Refuses a request whose body does not have the digest that its signature covers, or that is a replay.
    private func accept(_ signed: SignedHead, _ body: UnsafeRawBufferPointer) throws(APIError) {
        try signature.check(body, of: signed)
        try signature.accept(signed)
    }

    private func responding(_ make: () throws(APIError) -> APIAction) -> APIAction {
        do throws(APIError) {
            return try make()
        } catch {
            return .respond(error.response(nil))
        }
    }

    // MARK: Queries

    private func query(
        _ endpoint: PusherEndpoint, _ request: HTTPRequest, _ app: Application
    ) throws(APIError) -> ChannelQuery {
        switch endpoint {
        case .channels: try channelsQuery(request)
        case .channel(let text): try channelQuery(text, request, app.limits)
        case .users(let text): try usersQuery(text, app.limits)
        case .events, .batchEvents, .terminate: preconditionFailure("a request with a body was routed as a query")
        }
    }

    private func channelsQuery(_ request: HTTPRequest) throws(APIError) -> ChannelQuery {
        let prefix = request.queryValue("filter_by_prefix") ?? ""
        // The names that are listed are ASCII. The hub compares each of them, and comparing other texts can be slow.
        guard prefix.isASCII else { throw APIError(400, "Invalid filter_by_prefix \(prefix.clipped): expected ASCII") }
        let info = try ChannelAttributes(request.queryValue("info") ?? "", allowed: [.userCount, .subscriptionCount])
        guard !info.contains(.userCount) || prefix.utf8.starts(with: "presence-".utf8) else {
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
}

/// The endpoints below `/apps/ID`.
enum PusherEndpoint {
    case events
    case batchEvents
    case channels
    case channel(String)
    case users(String)
    /// The user's id.
    case terminate(String)

    /// Nil if there is no such endpoint.
    /// - Parameter path: the segments after `/apps/ID`.
    init?(_ path: PathSegments) {
        var rest = path
        guard let first = rest.next() else { return nil }
        guard path.count > 1 else {
            switch first {
            case "events": self = .events
            case "batch_events": self = .batchEvents
            case "channels": self = .channels
            default: return nil
            }
            return
        }
        let segments = Array(rest)
        switch (segments.count, first, segments[segments.count - 1]) {
        case (1, "channels", let name): self = .channel(name.text)
        case (2, "channels", "users"): self = .users(segments[0].text)
        // Some libraries do not escape the slashes in a user id, so it may be several segments.
        case (2..., "users", "terminate_connections"):
            self = .terminate(segments.dropLast().map(\.text).joined(separator: "/"))
        default: return nil
        }
    }

    /// The size in bytes of the largest body; nil if the endpoint reads none.
    func bodyBytesMax(_ limits: Limits) -> Int? {
        switch self {
        case .events: limits.eventBodyBytes
        case .batchEvents: limits.batchBodyBytes
        case .terminate: limits.objectBytes  // It has no members; several libraries send `{}`.
        case .channels, .channel, .users: nil
        }
    }

    /// - Throws: ``APIError`` with 405.
    func checkMethod(_ method: HTTPRequest.Method) throws(APIError) {
        switch self {
        case .events, .batchEvents, .terminate:
            guard method == .post else { throw .methodNotAllowed("POST") }
        case .channels, .channel, .users:
            guard method == .get || method == .head else { throw .methodNotAllowed("GET") }
        }
    }
}
