import Access
import Console
import Crypto
import HTTP
import JSON
import JWT
import Primitives
import PusherAPI

/// Authenticates requests to the fleet's API, and maps them to actions by the table in ``FleetEndpoints``. One instance
/// per thread.
package struct FleetRouter: RouterExtension {
    package let app: Application
    private let authenticator: Authenticator
    private let metricsToken: String
    let isCatalogued: @Sendable (String) -> Bool
    let isTimeZone: @Sendable (String) -> Bool
    let isPushedAs: @Sendable (String) -> Bool
    /// Nil if the gateway keeps no accounts.
    let accounts: AccountCheck?
    let summaries: SummarySettings
    /// The calling codes whose phones may sign in; empty: all. Nil while sign-in by code is off.
    let codeCountries: [String]?
    private let groups: [EndpointGroup]
    /// The patterns of all paths, those of the Pusher server first.
    package let patterns: EndpointPatterns
    /// Nil if the console is off: its paths are 404.
    private let console: ConsolePage?
    private let consolePatterns: (page: EndpointPattern, file: EndpointPattern)
    private let permits: @Sendable (Sender, SubjectRate) -> Bool
    private let charge: @Sendable (Sender, Int) -> Void

    /// - Parameters:
    ///   - app: the application whose channels the fleet uses.
    ///   - metricsToken: the Bearer token of `/metrics`, which is also accepted for `/api/ops/*`. If empty, requests
    ///     from this machine may read the statistics and the push report.
    ///   - isCatalogued: returns whether the catalogue contains a notification type.
    ///   - isTimeZone: returns whether a time zone exists. Called with 1 to 64 characters of `[A-Za-z0-9_+\-/:]`.
    ///   - isPushedAs: returns whether pushes have this type or event, so that a person may switch it off.
    ///   - accounts: decides by the states of drivers' accounts; nil if the gateway keeps no accounts.
    ///   - summaries: how drivers' summaries are made.
    ///   - codeCountries: the calling codes whose phones may sign in by code; empty: all; nil: that is off.
    ///   - permits: counts a request, and returns whether its sender may make it now.
    ///   - charge: counts so many further requests: a command is as much work as these.
    package init(
        app: Application, authenticator: Authenticator, metricsToken: String,
        isCatalogued: @escaping @Sendable (String) -> Bool, isTimeZone: @escaping @Sendable (String) -> Bool,
        isPushedAs: @escaping @Sendable (String) -> Bool = { _ in true },
        console: ConsolePage? = nil, accounts: AccountCheck? = nil, summaries: SummarySettings = SummarySettings(),
        codeCountries: [String]? = nil,
        permits: @escaping @Sendable (Sender, SubjectRate) -> Bool = { _, _ in true },
        charge: @escaping @Sendable (Sender, Int) -> Void = { _, _ in }
    ) {
        self.app = app
        self.authenticator = authenticator
        self.metricsToken = metricsToken
        self.isCatalogued = isCatalogued
        self.isTimeZone = isTimeZone
        self.isPushedAs = isPushedAs
        self.accounts = accounts
        self.summaries = summaries
        self.codeCountries = codeCountries
        let groups =
            (accounts == nil ? FleetEndpoints.groups : FleetEndpoints.groupsWithAccounts)
            + [codeCountries == nil ? SignInCodeEndpoints.off : SignInCodeEndpoints.group]
        var patterns = EndpointPatterns()
        self.groups = groups.map { $0.adding(to: &patterns) }
        consolePatterns = (patterns.index(of: ConsolePaths.page), patterns.index(of: ConsolePaths.file))
        self.console = console
        self.patterns = patterns
        self.permits = permits
        self.charge = charge
    }

    /// The endpoints of a path, one for each method; none if the path is unknown.
    private func target(of request: HTTPRequest) -> FleetTarget {
        let path = Array(PathSegments(request.rawPath))
        let group = groups.first { $0.contains(path) }
        return FleetTarget(path: path, group: group, endpoints: (group?.endpoints ?? []).filter { $0.matches(path) })
    }

    package func route(
        head request: HTTPRequest, now: Int64, preflight: (HTTPRequest) throws(APIError) -> HTTPResponse
    ) -> (routing: Routing, pattern: EndpointPattern)? {
        if let pattern = consolePattern(of: request) {
            return (answering(nil) { () throws(APIError) in .respond(try consoleResponse(to: request, preflight)) }, pattern)
        }
        guard let envelope = Envelope(rawPath: request.rawPath)?.at(now * 1_000) else { return nil }
        let target = target(of: request)
        let routing = answering(envelope) { () throws(APIError) in
            if request.isPreflight, !target.isOff { return .respond(try preflight(request)) }
            return try route(head: request, target, envelope, now: now)
        }
        return (routing, target.pattern)
    }

    package func pattern(of request: HTTPRequest) -> EndpointPattern? {
        consolePattern(of: request) ?? Envelope(rawPath: request.rawPath).map { _ in target(of: request).pattern }
    }

    package func errorFormat(of request: HTTPRequest) -> (any ErrorFormat)? { Envelope(rawPath: request.rawPath) }

    private func answering(_ envelope: Envelope?, _ route: () throws(APIError) -> Routing) -> Routing {
        do throws(APIError) {
            return try route()
        } catch {
            return .respond(error.response(envelope))
        }
    }

    /// Checks a request's head in the order that docs/api.md documents: 401, 403, 404 (path), 405, 429. 413 and 400
    /// follow when the body's size is known.
    /// - Parameter now: seconds since 1970.
    private func route(
        head request: HTTPRequest, _ target: FleetTarget, _ envelope: Envelope, now: Int64
    ) throws(APIError) -> Routing {
        let (path, group, endpoints) = (target.path, target.group, target.endpoints)
        if target.isOff { throw Router.unknown(request) }
        let sender: Sender
        if let other = senderWithoutToken(request, path, endpoints) {
            sender = other
        } else {
            switch try authenticator.authenticate(
                on: request, now: now, expiredSecondsMax: endpoints.first?.expiredSecondsMax ?? 0)
            {
            case .needs(let fact): return .needs(fact)
            case .identity(let identity): sender = .person(identity)
            }
        }
        let (endpoint, admitted) = try endpoint(for: request, group, endpoints, sender)
        if let rate = endpoint.rate, let key = admitted.key, !permits(admitted, rate) {
            throw APIError(429, rate.refusal(of: key.clipped), headers: ["Retry-After": "1"], summary: "Too many requests")
        }
        let route = FleetRoute(endpoint: endpoint, sender: admitted, parameters: endpoint.parameters(in: path))
        let finish: (UnsafeRawBufferPointer) -> APIAction
        if case .none = endpoint.body {
            let action = action(of: route, request, envelope)
            finish = { _ in action }
        } else {
            // A copy: the endpoint reads the query and header fields when the body is complete.
            let head = DeferredRequest(request)
            finish = { body in head.withRequest(body: body) { action(of: route, $0, envelope) } }
        }
        return .route(
            RoutedRequest(
                bodyBytesMax: endpoint.body.bytesMax(app.limits), addressLimit: endpoint.addressLimit,
                actor: admitted.key, action: finish))
    }

    /// The sender of a request that needs no token.
    /// - Parameter endpoints: have the same path.
    /// - Returns: nil if the request needs one.
    private func senderWithoutToken(
        _ request: HTTPRequest, _ path: [PathSegment], _ endpoints: [Endpoint]
    ) -> Sender? {
        if !endpoints.isEmpty, endpoints.allSatisfy(\.isOpen) { return .anonymous }
        return permitsOpsWithoutJWT(request, path) ? .operator : nil
    }

    /// The sender of a request; nil if its token is missing or invalid, or its issuer's keys are not known yet.
    /// - Parameter now: seconds since 1970.
    package func identity(of request: HTTPRequest, now: Int64) -> Identity? {
        guard case .identity(let identity)? = try? authenticator.authenticate(on: request, now: now) else { return nil }
        return identity
    }

    /// Calls `use`, for which this answer about an opaque token counts.
    package func with<Result>(_ answer: AnsweredToken, _ use: () -> Result) -> Result {
        guard let tokens = authenticator.opaqueTokens else { return use() }
        return tokens.with(answer, use)
    }

    /// Finds the endpoint of a request.
    /// - Returns: the endpoint, and the sender with the role and the id that count there.
    /// - Throws: ``APIError`` with 403, 404 or 405 if there is none that the sender may use.
    private func endpoint(
        for request: HTTPRequest, _ group: EndpointGroup?, _ endpoints: [Endpoint], _ sender: Sender
    ) throws(APIError) -> (Endpoint, Sender) {
        let method = request.method == .head ? .get : request.method
        let endpoint = endpoints.first { $0.method == method }
        // Before the path: a driver who may do nothing does not learn which paths exist.
        let admitted = try admit(sender, to: (endpoint ?? endpoints.first)?.need ?? .approved, request)
        try Self.checkRole(of: admitted, group?.roles)
        guard let first = endpoints.first else { throw Router.unknown(request) }
        try Self.checkRole(of: admitted, first.roles)
        guard let endpoint else {
            var allowed = endpoints.map(\.method.rawValue)
            if allowed.contains("GET") { allowed.append("HEAD") }
            throw .methodNotAllowed(allowed.joined(separator: ", "))
        }
        return (endpoint, admitted)
    }

    /// Checks the state of the sender's account.
    private func admit(_ sender: Sender, to need: AccountNeed, _ request: HTTPRequest) throws(APIError) -> Sender {
        guard let accounts, let person = sender.person else { return sender }
        do throws(RuleError) {
            return .person(try accounts.admit(person, to: need))
        } catch {
            // An envelope without `message` shows the short text.
            if case .message? = Envelope(rawPath: request.rawPath) { throw APIError(error) }
            throw APIError(error.status, error.summary ?? error.text)
        }
    }

    private static func checkRole(of sender: Sender, _ roles: [Role]?) throws(APIError) {
        guard let roles, let role = sender.role, !roles.contains(role) else { return }
        throw .wrongRole(role, required: roles)
    }

    /// The action of a request whose body is complete. A body that the endpoint cannot read leads to a response with the
    /// error.
    private func action(of route: FleetRoute, _ request: HTTPRequest, _ envelope: Envelope) -> APIAction {
        do throws(APIError) {
            return try action(of: route, request)
        } catch {
            return .respond(error.response(envelope))
        }
    }

    private func action(of route: FleetRoute, _ request: HTTPRequest) throws(APIError) -> APIAction {
        func input(_ body: JSONBody = JSONBody()) -> EndpointRequest {
            EndpointRequest(
                http: request, sender: route.sender, parameters: route.parameters, body: body, router: self)
        }
        switch route.endpoint.handler {
        case .query(let read, let command):
            let command = try command.map { command throws(APIError) in
                try APIError.mappingJSONErrors { try command(input()) }
            }
            let query = try APIError.mappingJSONErrors { try read(input()) }
            return .fleet(
                .query(
                    query, by: route.sender,
                    writing: command.map { IssuedCommand($0, from: route.sender, correlationID: request.correlationID) }))
        case .action(let read):
            guard case .json = route.endpoint.body else { return try APIError.mappingJSONErrors { try read(input()) } }
            let body = try JSONBody(request.body)
            return try APIError.mappingJSONErrors { try read(input(body)) }
        case .command(let acceptsKey, let read):
            if route.endpoint.refusesCardNumbers, CardNumbers.occur(in: request.body) {
                throw APIError(400, "Card numbers are not accepted here")
            }
            let body = try JSONBody(request.body)
            let command = try APIError.mappingJSONErrors { try read(input(body)) }
            if command.tokens > 1, route.endpoint.rate == .command { charge(route.sender, command.tokens - 1) }
            let issued = IssuedCommand(
                command, from: route.sender, correlationID: request.correlationID,
                expectedVersions: try expectedVersions(request),
                idempotencyKey: acceptsKey ? try idempotencyKey(request, body) : nil)
            return .fleet(.command(issued))
        }
    }

    /// The versions in `If-Match` (RFC 9110 section 13.1.1), each of which may be in quotes. Nil if the header is absent or `*`.
    ///
    /// `If-Match` compares strongly, so a weak one (`W/"3"`) matches no version.
    private func expectedVersions(_ request: HTTPRequest) throws(APIError) -> [Int]? {
        guard let text = request.field(.ifMatch) else { return nil }
        guard !text.utf8.elementsEqual("*".utf8) else { return nil }
        // Empty elements count for nothing (RFC 9110 section 5.6.1.2).
        let elements = text.utf8.split(separator: UInt8(ascii: ",")).filter { !$0.allSatisfy { $0 == 0x20 || $0 == 0x09 } }
        let tags = elements.compactMap(EntityTag.init)
        guard !tags.isEmpty, tags.count == elements.count else {
            throw APIError(400, "Expected If-Match to be a version, such as \"3\", or several; found \(text.clipped)")
        }
        let versions = tags.filter { !$0.isWeak }.map(\.version)
        guard !versions.isEmpty else {
            throw APIError(412, "If-Match compares strongly: send the version without W/, such as \"3\"")
        }
        return versions
    }

    /// The idempotency key and the digest of the request. The key is in the header or, without the header, in the body.
    /// Nil if the request has no key.
    private func idempotencyKey(_ request: HTTPRequest, _ body: JSONBody) throws(APIError) -> IssuedCommand.IdempotencyKey? {
        let inBody = try body.text("idempotencyKey").value
        let inHeader = request.field(.idempotencyKey)
        guard let key = inHeader ?? inBody else { return nil }
        guard (1...255).contains(key.unicodeScalars.count) else {
            throw APIError(
                400, "Expected \(inHeader == nil ? "\"idempotencyKey\"" : "Idempotency-Key") to have 1 to 255 characters")
        }
        var text = Array("\(request.method.rawValue)\n\(request.path)\n".utf8)
        if request.body.isEmpty {
            text += "{}".utf8  // An absent body counts as an empty object.
        } else {
            text += try APIError.mappingJSONErrors { try CanonicalJSON.bytes(of: request.body) }
        }
        return IssuedCommand.IdempotencyKey(key, digest: SHA256.digest(of: text))
    }

    // MARK: Ops

    private func consolePattern(of request: HTTPRequest) -> EndpointPattern? {
        var path = PathSegments(request.rawPath)
        guard let first = path.next(), first == "console" else { return nil }
        switch path.count {
        case 0: return consolePatterns.page
        case 1: return consolePatterns.file
        default: return nil
        }
    }

    private func consoleResponse(
        to request: HTTPRequest, _ preflight: (HTTPRequest) throws(APIError) -> HTTPResponse
    ) throws(APIError) -> HTTPResponse {
        if request.isPreflight { return try preflight(request) }
        let file = UnsafeRawBufferPointer(rebasing: request.rawPath.dropFirst("/console".utf8.count))
        guard let page = console?.response(for: String(PercentDecoding.text(file, .path).drop { $0 == "/" })) else {
            throw Router.unknown(request)
        }
        try request.checkIsGet()
        return page
    }

    package var metricsCredentials: String { "a JWT of role admin or ops" }

    /// Permits `/metrics` if the request's JWT or cookie may read `/api/ops/*`. Nil if the request has neither, or it is
    /// invalid.
    /// - Throws: ``APIError`` with 403 if the sender has another role, or none.
    package func metrics(_ request: HTTPRequest, now: Int64) throws(APIError) -> Routing? {
        let result: Authenticator.Result
        do throws(APIError) {
            result = try authenticator.authenticate(on: request, now: now)
        } catch {
            guard error.status == 403 else { return nil }
            throw error
        }
        switch result {
        case .needs(let fact): return .needs(fact)
        case .identity(let identity):
            try Self.checkRole(of: .person(identity), FleetEndpoints.opsRoles)
            return Router.metrics
        }
    }

    /// Whether a request may use `/api/ops/*` without a JWT. It may if it has the metrics token. If no metrics token is
    /// configured, a request from this machine may read the statistics and the push report (not notifications). A
    /// request with `Authorization`, `Cookie` or `Origin` may read neither: a browser on this machine may have sent it
    /// for a web page.
    private func permitsOpsWithoutJWT(_ request: HTTPRequest, _ path: [PathSegment]) -> Bool {
        guard path.count > 1, path[0] == "api", path[1] == "ops" else { return false }
        if let authorization = request.authorization {
            return !metricsToken.isEmpty && ConstantTime.equal(authorization, "Bearer " + metricsToken)
        }
        return metricsToken.isEmpty && request.isOfThisMachine && request.field(.cookie) == nil
            && path.count > 2 && (path[2] == "stats" || path[2] == "push")
    }
}

/// The paths of the operators' page.
enum ConsolePaths {
    static let page = "/console"
    static let file = "/console/{file}"
    static let all = [page, file]
}

/// The endpoints of a request's path.
struct FleetTarget {
    let path: [PathSegment]
    /// Nil if no group has the path's prefix.
    let group: EndpointGroup?
    /// They have the same path, and differ in their methods.
    let endpoints: [Endpoint]

    var pattern: EndpointPattern { endpoints.first?.pattern ?? .other }

    /// Whether the feature of the path is off: nobody gets another response than 404.
    var isOff: Bool { group?.isOff == true }
}

/// An authenticated request to an endpoint of the fleet's API.
struct FleetRoute {
    let endpoint: Endpoint
    let sender: Sender
    /// The parameters in the path, unchecked.
    let parameters: [String]
}

/// A version as a member of `If-Match`: `3`, `"3"` or `W/"3"` (RFC 9110 section 8.8.3).
private struct EntityTag {
    let version: Int
    let isWeak: Bool

    /// - Parameter text: may have spaces around it.
    init?(_ text: Substring.UTF8View) {
        var text = text.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
        isWeak = text.starts(with: #"W/""#.utf8)
        if isWeak { text.removeFirst(2) }
        if text.count > 2, text.first == UInt8(ascii: "\""), text.last == UInt8(ascii: "\"") {
            text = text.dropFirst().dropLast()
        }
        guard text.allSatisfy({ (0x30...0x39).contains($0) }), let version = Int(Substring(text)) else { return nil }
        self.version = version
    }
}
