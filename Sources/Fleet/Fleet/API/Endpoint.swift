import Access
import HTTP
import PusherAPI
import PusherProtocol

/// An endpoint of the fleet's API: one method of one path. FleetEndpoints.swift has the table of all endpoints.
struct Endpoint: Sendable {
    /// Parses a request into an action. Runs after the checks that lead to 401, 403, 404, 405 or 413, so an endpoint
    /// with a body runs when the body is complete. The closures
    /// throw only ``APIError``, but the compiler infers untyped `throws` for closures, so the cases declare untyped
    /// `throws`.
    enum Handler: Sendable {
        /// A write to the store. ``FleetRouter`` adds the version in `If-Match` and, if `acceptsKey`, the idempotency
        /// key.
        case command(acceptsKey: Bool, @Sendable (EndpointRequest) throws -> any Command)
        /// A read from the store. `writing` is the same request as a command; nil: no answer needs a write.
        case query(
            @Sendable (EndpointRequest) throws -> Query, writing: (@Sendable (EndpointRequest) throws -> any Command)?)
        /// Neither a write to the store nor a read from it.
        case action(@Sendable (EndpointRequest) throws -> APIAction)
    }

    /// What the endpoint reads of a request's body.
    enum BodyForm: Sendable {
        /// Nothing.
        case none
        /// A JSON object, which is parsed before the handler runs.
        case json(BodyLimit)
        /// A form or a JSON object, which the handler parses.
        case form

        /// The limit in bytes.
        /// - Parameter limits: the application's.
        func bytesMax(_ limits: Limits) -> Int {
            switch self {
            case .none: 0
            case .json(let limit): limit.bytes(limits)
            case .form: BodyLimit.object.bytes(limits)
            }
        }
    }

    let method: HTTPRequest.Method
    /// The path, with parameters: `/api/driver/jobs/{id}/accept`.
    let path: String
    /// The path's segments; a parameter matches any one segment.
    private let segments: [Segment]
    /// The roles that may use this path. Nil if all roles of the group may.
    let roles: [Role]?
    let body: BodyForm
    /// The limit of each sender's rate; nil if there is none.
    private(set) var rate: SubjectRate?
    let handler: Handler
    /// Which drivers' accounts may use the endpoint.
    private(set) var need = AccountNeed.approved
    /// Whether a request needs no token. One that it has is ignored.
    private(set) var isOpen = false
    /// How often a client address may use it; nil: as often as it likes.
    private(set) var addressLimit: AddressLimit?
    /// A token that a customer got by a code is accepted for so many seconds after its end.
    private(set) var expiredSecondsMax: Int64 = 0
    /// The name of the path in metrics and log lines.
    var pattern = EndpointPattern.other
    /// Whether a body with a payment card's number is refused before anything else is read of it.
    private(set) var refusesCardNumbers = false

    private init(
        _ method: HTTPRequest.Method, _ path: String, _ roles: [Role]?, _ body: BodyForm, _ handler: Handler,
        rate: SubjectRate? = nil
    ) {
        self.method = method
        self.path = path
        segments = path.split(separator: "/").map { $0.first == "{" ? .parameter : .name(String($0)) }
        self.roles = roles
        self.body = body
        self.rate = rate
        self.handler = handler
    }

    /// A write to the store.
    /// - Parameter acceptsKey: whether a request may have an idempotency key.
    static func command<Action: Command>(
        _ method: HTTPRequest.Method, _ path: String, roles: [Role]? = nil, body: BodyLimit = .object,
        acceptsKey: Bool = true, _ read: @escaping @Sendable (EndpointRequest) throws -> Action
    ) -> Endpoint {
        Endpoint(method, path, roles, .json(body), .command(acceptsKey: acceptsKey, read), rate: .command)
    }

    /// A GET that reads from the store.
    static func query(
        _ path: String, _ read: @escaping @Sendable (EndpointRequest) throws -> Query
    ) -> Endpoint {
        Endpoint(.get, path, nil, .none, .query(read, writing: nil), rate: .query)
    }

    /// A GET that reads from the store, unless the answer needs a write.
    /// - Parameter command: the same request as a command.
    static func query(
        _ path: String, writing command: @escaping @Sendable (EndpointRequest) throws -> any Command,
        _ read: @escaping @Sendable (EndpointRequest) throws -> Query
    ) -> Endpoint {
        Endpoint(.get, path, nil, .none, .query(read, writing: command), rate: .query)
    }

    /// A request that is neither a command nor a query of the store.
    static func action(
        _ method: HTTPRequest.Method, _ path: String, _ read: @escaping @Sendable (EndpointRequest) throws -> APIAction
    ) -> Endpoint {
        Endpoint(method, path, nil, .none, .action(read))
    }

    /// A driver's positions.
    static func location(_ path: String, _ read: @escaping @Sendable (EndpointRequest) throws -> APIAction) -> Endpoint {
        Endpoint(.post, path, nil, .json(.object), .action(read), rate: .location)
    }

    /// Signs something for a connection of the sender.
    static func authorization(_ path: String, _ read: @escaping @Sendable (EndpointRequest) throws -> APIAction) -> Endpoint {
        Endpoint(.post, path, nil, .form, .action(read), rate: .authorization)
    }

    /// The same endpoint for other accounts than approved ones.
    func admitting(_ need: AccountNeed) -> Endpoint {
        var endpoint = self
        endpoint.need = need
        return endpoint
    }

    /// The same endpoint for anybody, without a token.
    func open(_ limit: AddressLimit) -> Endpoint {
        var endpoint = admitting(.anyOrNone)
        endpoint.isOpen = true
        endpoint.addressLimit = limit
        endpoint.rate = nil  // There is no sender whose rate could be limited.
        return endpoint
    }

    func acceptingExpired(seconds: Int64) -> Endpoint {
        var endpoint = self
        endpoint.expiredSecondsMax = seconds
        return endpoint
    }

    func refusingCardNumbers() -> Endpoint {
        var endpoint = self
        endpoint.refusesCardNumbers = true
        return endpoint
    }

    /// A part of the path between slashes: fixed text, or a parameter.
    private enum Segment {
        case name(String)
        case parameter
    }

    /// Whether the path matches. The method is not compared.
    func matches(_ path: [PathSegment]) -> Bool {
        path.count == segments.count
            && zip(segments, path).allSatisfy { if case .name(let name) = $0 { $1 == name } else { true } }
    }

    /// The parameters in a matching path, unchecked.
    func parameters(in path: [PathSegment]) -> [String] {
        zip(segments, path).compactMap { if case .parameter = $0 { $1.text } else { nil } }
    }
}

/// The endpoints below one path prefix, and the roles that may use them.
struct EndpointGroup: Sendable {
    /// The prefix of the group's paths.
    let path: String
    private let prefix: [String]
    /// The roles that may use the group. Checked before the path, so that other roles do not learn which paths exist.
    /// Nil if any role may, unless the endpoint lists its own roles.
    let roles: [Role]?
    private(set) var endpoints: [Endpoint]
    /// Whether the feature of these paths is off. Every caller then gets 404 for all of them, also without a token.
    let isOff: Bool

    init(off prefix: String) {
        (path, roles, endpoints, isOff) = (prefix, nil, [], true)
        self.prefix = prefix.split(separator: "/").map(String.init)
    }

    init(_ prefix: String, roles: [Role]? = nil, _ endpoints: [Endpoint]) {
        path = prefix
        self.prefix = prefix.split(separator: "/").map(String.init)
        self.roles = roles
        self.endpoints = endpoints
        isOff = false
    }

    /// The group with further endpoints.
    func adding(_ more: [Endpoint]) -> EndpointGroup { EndpointGroup(path, roles: roles, endpoints + more) }

    /// The group whose endpoints know their patterns.
    func adding(to patterns: inout EndpointPatterns) -> EndpointGroup {
        var group = self
        for index in endpoints.indices { group.endpoints[index].pattern = patterns.index(of: endpoints[index].path) }
        return group
    }

    func contains(_ path: [PathSegment]) -> Bool {
        path.count >= prefix.count && zip(prefix, path).allSatisfy { $1 == $0 }
    }
}

/// The input of an endpoint's handler.
struct EndpointRequest {
    let http: HTTPRequest
    let sender: Sender
    /// The parameters in the path, unchecked.
    let parameters: [String]
    /// The body, if the endpoint reads JSON (``Endpoint/BodyForm``); empty for other endpoints.
    let body: JSONBody
    let router: FleetRouter

    /// The sender of a request with a token.
    var identity: Identity { sender.identity }

    /// The first parameter in the path, unchecked.
    var id: String { parameters[0] }

    /// The first parameter in the path, checked to be a code or an id.
    /// - Parameter field: the parameter's name in the error message.
    func id(_ field: String) throws(APIError) -> String { try JSONBody.checkedName(id, field: field) }

    /// The query parameter `reference`: that of a booking.
    func reference() throws(APIError) -> String {
        guard let text = http.queryValue("reference"), !text.isEmpty else { throw APIError(400, "Expected reference") }
        return try JSONBody.checkedName(text, field: "reference")
    }

    private static let limitRange = 1...200

    /// The query parameter `limit`: 1 to 200, by default 50.
    func limit() throws(APIError) -> Int {
        guard let text = http.queryValue("limit") else { return 50 }
        guard let limit = Int(text), Self.limitRange.contains(limit) else {
            throw .invalid("limit", "be from 1 to \(Self.limitRange.upperBound)")
        }
        return limit
    }

    /// The query parameters `channel`, `driver`, `order`, `state` and `older_than` of a list of notifications.
    func notificationListing() throws(APIError) -> NotificationListing {
        var channel = http.queryValue("channel")
        if let channel, ChannelName(channel, lengthMax: 256) == nil { throw .invalid("channel", "be the name of a channel") }
        let orderCode = try http.queryValue("order").map { code throws(APIError) in try JSONBody.checkedName(code, field: "order")
        }
        if let driver = http.queryValue("driver") {
            guard channel == nil else { throw APIError(400, "Expected channel or driver, not both") }
            channel = FleetChannel.driver(try JSONBody.checkedDriverID(driver)).name
        }
        guard orderCode == nil || channel == nil else { throw APIError(400, "Expected order alone, without channel or driver") }
        return NotificationListing(
            channel: channel, orderCode: orderCode, state: try notificationState(), olderThan: try olderThan())
    }

    private func notificationState() throws(APIError) -> NotificationFilter.State? {
        guard let text = http.queryValue("state") else { return nil }
        guard let state = NotificationFilter.State(name: text) else {
            let names = ReceiptState.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid("state", "be one of \(names), unconfirmed")
        }
        return state
    }

    /// A hundred years in seconds: more than any age, and no overflow in milliseconds.
    private static let ageRange = 0...3_155_760_000

    private func olderThan() throws(APIError) -> Int {
        guard let text = http.queryValue("older_than") else { return 0 }
        guard let age = Int(text), Self.ageRange.contains(age) else {
            throw .invalid("older_than", "be a number of seconds")
        }
        return age
    }

    /// The query parameter `before`: the id of a notification. Nil if absent.
    func before() throws(APIError) -> String? {
        guard let text = http.queryValue("before") else { return nil }
        return try JSONBody.checkedName(text, field: "before")
    }
}
