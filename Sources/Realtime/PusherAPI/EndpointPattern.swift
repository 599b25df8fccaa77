/// The pattern of a request's path, such as `/apps/{id}/events`: how metrics and log lines name an endpoint.
/// An index into ``Router/patterns``, so that counting a request compares no text.
package struct EndpointPattern: Hashable, Sendable {
    package let index: Int

    /// That of all paths that no endpoint has.
    package static let other = EndpointPattern(.other)

    init(_ path: FixedPath) { index = path.rawValue }

    fileprivate init(index: Int) { self.index = index }
}

/// The patterns of the Pusher server. Raw values are indexes into ``Router/patterns``.
enum FixedPath: Int, CaseIterable {
    case other
    case liveness
    case readiness
    case metrics
    case webSocket
    case events
    case batchEvents
    case channels
    case channel
    case channelUsers
    case terminateConnections
    case terminateConnectionsByKey

    var pattern: String {
        switch self {
        case .other: "other"
        case .liveness: "/healthz"
        case .readiness: "/readyz"
        case .metrics: "/metrics"
        case .webSocket: "/app/{key}"
        case .events: "/apps/{id}/events"
        case .batchEvents: "/apps/{id}/batch_events"
        case .channels: "/apps/{id}/channels"
        case .channel: "/apps/{id}/channels/{channel}"
        case .channelUsers: "/apps/{id}/channels/{channel}/users"
        case .terminateConnections: "/apps/{id}/users/{user}/terminate_connections"
        case .terminateConnectionsByKey: "/users/{user}/terminate_connections"
        }
    }
}

/// What a path of the Pusher server is for.
enum FixedTarget {
    case path(FixedPath)
    /// Below `/apps/ID`; nil if no endpoint has the path.
    case pusher(PusherEndpoint?)
    /// The same without `/apps/ID`: the key of the signature names the application. An official SDK sends one request so.
    case pusherByKey(PusherEndpoint)

    init(_ path: PathSegments) {
        var rest = path
        guard let first = rest.next() else {
            self = .path(.other)
            return
        }
        switch (path.count, first) {
        case (3..., "apps"):  // the most frequent
            _ = rest.next()  // the application's id
            self = .pusher(PusherEndpoint(rest))
        case (3..., "users"):
            if case .terminate(let userID)? = PusherEndpoint(path) {
                self = .pusherByKey(.terminate(userID))
            } else {
                self = .path(.other)
            }
        case (1, "healthz"): self = .path(.liveness)
        case (1, "readyz"): self = .path(.readiness)
        case (1, "metrics"): self = .path(.metrics)
        case (2, "app"): self = .path(.webSocket)
        default: self = .path(.other)
        }
    }

    var pattern: EndpointPattern {
        switch self {
        case .path(let path): EndpointPattern(path)
        case .pusher(let endpoint): EndpointPattern(endpoint?.path ?? .other)
        case .pusherByKey: EndpointPattern(.terminateConnectionsByKey)
        }
    }
}

extension PusherEndpoint {
    fileprivate var path: FixedPath {
        switch self {
        case .events: .events
        case .batchEvents: .batchEvents
        case .channels: .channels
        case .channel: .channel
        case .users: .channelUsers
        case .terminate: .terminateConnections
        }
    }
}

/// The texts of all patterns, each once.
package struct EndpointPatterns {
    package private(set) var texts = FixedPath.allCases.map(\.pattern)

    /// Those of the Pusher server, to which an extension adds its own.
    package init() {}

    /// The index of a pattern, which is added if it is new.
    package mutating func index(of text: String) -> EndpointPattern {
        if let index = texts.firstIndex(of: text) { return EndpointPattern(index: index) }
        texts.append(text)
        return EndpointPattern(index: texts.count - 1)
    }
}
