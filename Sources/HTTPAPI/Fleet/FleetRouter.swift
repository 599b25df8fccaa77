import Access
import Crypto
import FleetRules
import HTTP
import JSON

/// From a request to the fleet's API to what it asks, once it is known who sends it and that he may. One instance per thread.
package struct FleetRouter {
    private let app: Application
    private let authenticator: Authenticator
    private let metricsToken: String
    private let isCatalogued: @Sendable (String) -> Bool
    private let isTimeZone: @Sendable (String) -> Bool

    /// - Parameters:
    ///   - app: the application that carries the fleet's channels.
    ///   - metricsToken: opens `/api/ops/*`, too; empty: this machine may look.
    ///   - isCatalogued: whether a type of notification is in the catalogue.
    ///   - isTimeZone: whether there is a time zone of this name, which has 1 to 64 of `[A-Za-z0-9_+\-/]`.
    package init(
        app: Application, authenticator: Authenticator, metricsToken: String,
        isCatalogued: @escaping @Sendable (String) -> Bool, isTimeZone: @escaping @Sendable (String) -> Bool
    ) {
        self.app = app
        self.authenticator = authenticator
        self.metricsToken = metricsToken
        self.isCatalogued = isCatalogued
        self.isTimeZone = isTimeZone
    }

    /// Which pages may call it.
    var origins: AllowedOrigins { app.origins }

    /// The checks in the contract's order: who, whether he may, whether the path is one, its method, the body's size, its content.
    /// - Parameter now: seconds since 1970.
    func action(of request: HTTPRequest, _ path: [Substring], now: Int64) throws(APIError) -> APIAction {
        if request.method == .options, request.origin != nil {
            guard origins.allow(request.origin) else {
                throw APIError(403, "This origin may not call this application: see allowed_origins")
            }
            return .respond(CORS.preflight)
        }
        let identity: Identity?
        if isOpsAllowed(request, path) {
            identity = nil
        } else {
            switch try authenticator.authenticate(on: request, now: now) {
            case .needsKeys(let issuer): return .needsKeys(issuer: issuer)
            case .identity(let someone): identity = someone
            }
        }
        if let identity, let roles = FleetEndpoint.roles(for: path), !roles.contains(identity.role) {
            let allowed = roles.map(\.rawValue).joined(separator: " or ")
            throw APIError(403, "Only \(allowed) may do this: the token's role is \(identity.role.rawValue)")
        }
        guard let endpoint = FleetEndpoint(path) else { throw APIError(404, "Unknown path: \(request.path.clipped)") }
        try checkMethod(request, endpoint.methods)
        if let most = request.bodyBytesMax { throw APIError(413, "The body exceeds the allowed maximum (\(most) bytes)") }
        guard let identity else { return try opsAction(endpoint, request) }
        return try action(of: endpoint, request, identity)
    }

    private func checkMethod(_ request: HTTPRequest, _ methods: [HTTPRequest.Method]) throws(APIError) {
        guard !methods.contains(request.method), !(request.method == .head && methods.contains(.get)) else { return }
        let allowed = methods.map(\.rawValue).joined(separator: ", ") + (methods.contains(.get) ? ", HEAD" : "")
        throw APIError(405, "Method not allowed: use \(allowed)", headers: ["Allow": allowed])
    }

    // MARK: What is asked

    private func action(of endpoint: FleetEndpoint, _ request: HTTPRequest, _ identity: Identity) throws(APIError) -> APIAction {
        switch endpoint {
        case .channelAuth: .authorize(try ChannelAuthorization(request, identity, app))
        case .userAuth: .respond(try UserAuthentication(request, identity, app).response)
        case .order(let code) where request.method != .put: .fleetQuery(.order(try JSONBody.checkedName(code, field: "code")))
        case .route(let id) where request.method != .put: .fleetQuery(.route(try JSONBody.checkedName(id, field: "routeId")))
        case .jobs: .fleetQuery(.jobs(driverID: identity.id))
        case .notifications:
            .fleetQuery(.notifications(of: identity, before: try before(request), limit: try limit(request)))
        case .devices: .fleetQuery(.devices(identity))
        case .preferences where request.method != .put: .fleetQuery(.preferences(identity))
        case .stats, .push, .lives, .life: try opsAction(endpoint, request)
        case .order, .orderAction, .route, .routeAction, .announce, .acceptJob, .acceptRoute, .progress, .telemetry, .markRead,
            .fcmToken, .appDevice, .preferences, .person:
            .command(try command(endpoint, request, identity))
        }
    }

    private func opsAction(_ endpoint: FleetEndpoint, _ request: HTTPRequest) throws(APIError) -> APIAction {
        switch endpoint {
        case .stats: .stats
        case .push: .pushReport
        case .life(let id):
            .fleetQuery(.notificationHistory(notificationID: try JSONBody.checkedName(id, field: "notification id")))
        case .lives:
            .fleetQuery(
                .notificationLog(channel: request.first("channel"), before: try before(request), limit: try limit(request)))
        default: preconditionFailure("only ops' endpoints are open to the metrics token")
        }
    }

    private static let limitRange = 1...200

    private func limit(_ request: HTTPRequest) throws(APIError) -> Int {
        guard let text = request.first("limit") else { return 50 }
        guard let limit = Int(text), Self.limitRange.contains(limit) else {
            throw APIError(400, "Expected limit to be from 1 to \(Self.limitRange.upperBound)")
        }
        return limit
    }

    private func before(_ request: HTTPRequest) throws(APIError) -> String? {
        guard let text = request.first("before") else { return nil }
        return try JSONBody.checkedName(text, field: "before")
    }

    // MARK: Commands

    private func command(
        _ endpoint: FleetEndpoint, _ request: HTTPRequest, _ identity: Identity
    ) throws(APIError) -> Command {
        let body = try JSONBody(request.body)
        return Command(
            actor: identity, deed: try commandAction(endpoint, request, body), correlationID: request.correlationID,
            expectedVersion: try expectedVersion(request), repetition: try idempotencyKey(endpoint, request, body))
    }

    private func commandAction(
        _ endpoint: FleetEndpoint, _ request: HTTPRequest, _ body: JSONBody
    ) throws(APIError) -> Command.Action {
        switch endpoint {
        case .order(let code): .order(try body.orderAction(code, .update))
        case .orderAction(let code, let action): .order(try body.orderAction(code, action))
        case .route(let id): .route(try body.routeAction(id, .update))
        case .routeAction(let id, let action): .route(try body.routeAction(id, action))
        case .announce: .announce(try body.announcement(isKnown: isCatalogued))
        case .acceptJob(let id): .acceptJob(try JSONBody.checkedName(id, field: "id"))
        case .acceptRoute(let id): .acceptRoute(try JSONBody.checkedName(id, field: "id"))
        case .progress(let id): .progress(try JSONBody.checkedName(id, field: "id"), try body.progressReport())
        case .telemetry: .telemetry(try body.telemetry(isKnown: isCatalogued))
        case .markRead: .markRead(try body.readMarks())
        case .fcmToken: .device(try body.fcmDevice(request))
        case .appDevice: .device(try body.appDevice(request))
        case .preferences: .updatePreferences(try body.preferenceChanges(isTimeZone: isTimeZone))
        case .person(let role, let id): .erase(role, id: try JSONBody.checkedName(id, field: "id"))
        case .channelAuth, .userAuth, .jobs, .notifications, .devices, .stats, .push, .lives, .life:
            preconditionFailure("what only asks is no command")
        }
    }

    /// Of `If-Match` (RFC 9110 section 13.1.1): a version, quoted or not; `*` asks for nothing.
    private func expectedVersion(_ request: HTTPRequest) throws(APIError) -> Int? {
        guard let text = request.field(.ifMatch), text != "*" else { return nil }
        let isQuoted = text.utf8.count > 2 && text.hasPrefix("\"") && text.hasSuffix("\"")
        guard let version = Int(isQuoted ? String(text.dropFirst().dropLast()) : text), version >= 0 else {
            throw APIError(400, "Expected If-Match to be a version, such as \"3\", found \(text.clipped)")
        }
        return version
    }

    private func idempotencyKey(
        _ endpoint: FleetEndpoint, _ request: HTTPRequest, _ body: JSONBody
    ) throws(APIError) -> Command.IdempotencyKey? {
        switch endpoint {
        // Its token may be in the query, which is not summed up here; and what has gone cannot go twice.
        case .fcmToken where request.method == .delete, .appDevice where request.method == .delete: return nil
        default: break
        }
        let inBody = try body.text("idempotencyKey").value
        let inHead = request.field(.idempotencyKey)
        guard let key = inHead ?? inBody else { return nil }
        guard (1...255).contains(key.unicodeScalars.count) else {
            throw APIError(400, "Expected \(inHead == nil ? "idempotencyKey" : "Idempotency-Key") to have 1 to 255 characters")
        }
        var text = Array("\(request.method.rawValue)\n\(request.path)\n".utf8)
        if request.body.isEmpty {
            text += "{}".utf8  // which an absent body is
        } else {
            text += try APIError.wrappingJSON { try CanonicalJSON.bytes(of: request.body) }
        }
        return Command.IdempotencyKey(key: key, digest: SHA256.digest(of: text))
    }

    // MARK: Ops

    /// Lets the metrics be seen by whoever may see `/api/ops/*` by his token; nil when it is none.
    func metrics(_ request: HTTPRequest, now: Int64) throws(APIError) -> APIAction? {
        guard let verdict = try? authenticator.authenticate(on: request, now: now) else { return nil }
        switch verdict {
        case .needsKeys(let issuer): return .needsKeys(issuer: issuer)
        case .identity(let identity):
            guard FleetEndpoint.opsRoles.contains(identity.role) else {
                throw APIError(403, "Only admin or ops may see this: the token's role is \(identity.role.rawValue)")
            }
            return .metrics
        }
    }

    /// Whether this is for `/api/ops/*` and the metrics token opens it. Without one this machine may look at the counts, but no
    /// page that a browser on it shows; what was said to whom is for those who say who they are.
    private func isOpsAllowed(_ request: HTTPRequest, _ path: [Substring]) -> Bool {
        guard path.first == "api", path.dropFirst().first == "ops" else { return false }
        if let authorization = request.authorization {
            return !metricsToken.isEmpty && ConstantTime.equal(authorization, "Bearer " + metricsToken)
        }
        return metricsToken.isEmpty && request.isLoopback && request.field(.cookie) == nil && request.origin == nil
            && ["stats", "push"].contains(path.dropFirst(2).first)
    }
}
