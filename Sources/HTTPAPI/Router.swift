import FanOut
import PusherProtocol
import Signing

/// What a request asks of the node, once it is known to be allowed.
package enum Outcome {
    /// Nothing: this is the answer.
    case answer(HTTPResponse)
    /// Publish, then answer 200 `{}`, or 503 when a mailbox has no room.
    case publish([Hub.Publication], app: AppIndex, except: SocketID?)
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

    /// - Parameters:
    ///   - apps: all applications, in the configured order.
    ///   - metricsToken: the Bearer token of `/metrics`; empty: this machine only.
    package init(apps: [Application], metricsToken: String) {
        self.apps = apps
        self.metricsToken = metricsToken
    }

    /// - Parameter now: seconds since 1970.
    package func outcome(of request: HTTPRequest, now: Int64) -> Outcome {
        do throws(APIError) {
            return try route(request, now)
        } catch {
            return .answer(.text(error.status, error.text))
        }
    }

    private func route(_ request: HTTPRequest, _ now: Int64) throws(APIError) -> Outcome {
        guard request.path.hasPrefix("/") else { throw APIError(404, "Unknown path: \(request.path.clipped)") }
        let path = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        switch (path.count, path.first) {
        case (1, "healthz"): return onlyGet(request) ?? .answer(.text(200, "ok"))
        case (1, "readyz"): return onlyGet(request) ?? .readiness
        case (1, "metrics"):
            if let refusal = onlyGet(request) { return refusal }
            return try metrics(request)
        case (2, "app"):
            return .answer(
                .text(426, "This is a WebSocket endpoint", headers: ["Upgrade": "websocket", "Connection": "Upgrade"]))
        case (3..., "apps"): return try appRoute(path.dropFirst(), request, now)
        default: throw APIError(404, "Unknown path: \(request.path.clipped)")
        }
    }

    private func appRoute(_ path: ArraySlice<Substring>, _ request: HTTPRequest, _ now: Int64) throws(APIError) -> Outcome {
        let id = path[path.startIndex]
        switch (path.count, path[path.startIndex + 1]) {
        case (2, "events"):
            if request.method != .post { return notAllowed("POST") }
            let app = try authenticated(String(id), request, now)
            let event = try EventRequest(request.body, limits: app.limits)
            return .publish(event.publications, app: app.index, except: event.except)
        default: throw APIError(404, "Unknown path: \(request.path.clipped)")
        }
    }

    private func authenticated(_ id: String, _ request: HTTPRequest, _ now: Int64) throws(APIError) -> Application {
        guard let app = apps.first(where: { $0.id == id }) else { throw APIError(404, "Unknown application \(id.clipped)") }
        try signature.check(request, for: app, now: now)
        guard app.isEnabled else { throw APIError(403, "Application \(id) is disabled") }
        return app
    }

    private func metrics(_ request: HTTPRequest) throws(APIError) -> Outcome {
        if metricsToken.isEmpty {
            guard request.isLoopback else { throw APIError(403, "Metrics are served to this machine only: set metrics.token") }
        } else {
            let given = request.authorization ?? ""
            guard ConstantTime.equal(given, "Bearer " + metricsToken) else {
                let text = "Expected Authorization: Bearer with the token of metrics.token"
                return .answer(.text(401, text, headers: ["WWW-Authenticate": "Bearer"]))
            }
        }
        return .metrics
    }

    /// The refusal of anything but GET and HEAD; nil for these.
    private func onlyGet(_ request: HTTPRequest) -> Outcome? {
        request.method == .get || request.method == .head ? nil : notAllowed("GET, HEAD")
    }

    private func notAllowed(_ allowed: String) -> Outcome {
        .answer(.text(405, "Method not allowed: use \(allowed)", headers: ["Allow": allowed]))
    }
}
