import Fleet
import HTTP
import PusherAPI
import PusherProtocol
import Testing

@Suite struct RouterTests {
    /// The result of routing, in comparable form.
    private enum Reply: Equatable {
        case response(HTTPResponse)
        case publish([String], app: Int, except: SocketID?)
        case batch([[String]], app: Int)
        case query(String, app: Int)
        case terminate([String], app: Int)
        case liveness
        case readiness
        case metrics
        /// Any action of the fleet's API, which other suites test.
        case fleet
    }

    private func reply(
        _ call: Call, authorization: String? = nil, isLoopback: Bool = true, metricsToken: String = ""
    ) -> Reply {
        let apps = [
            Application.example(index: 0),
            Application.example(index: 1, id: "1002", key: "key2", secret: "secret2"),
            Application.example(index: 2, id: "1003", key: "key3", secret: "secret3", isEnabled: false),
        ]
        let router = Router.example(apps, metricsToken: metricsToken)
        return call.asRequest(authorization: authorization, isLoopback: isLoopback) { request in
            switch router.action(of: request, now: Call.now) {
            case .respond(let response): .response(response)
            case .publish(let request, let app):
                if request.events.count == 1 {
                    .publish(request.events[0].publications.map(\.channel.text), app: app, except: request.events[0].except)
                } else {
                    .batch(request.events.map { $0.publications.map(\.channel.text) }, app: app)
                }
            case .query(let query, let app): .query("\(query)", app: app)
            case .terminate(let userIDs, let app): .terminate(userIDs, app: app)
            case .liveness: .liveness
            case .readiness: .readiness
            case .metrics: .metrics
            case .perform, .stats, .ops: .fleet
            }
        }
    }

    private func reply(_ method: HTTPRequest.Method, _ path: String) -> Reply {
        var call = Call.get(path)
        call.method = method
        return reply(call)
    }

    private func signed(_ method: HTTPRequest.Method, _ path: String) -> Call {
        var call = Call.get(path)
        call.method = method
        return call.signed()
    }

    private func httpResponse(_ reply: Reply) -> HTTPResponse? {
        if case .response(let response) = reply { response } else { nil }
    }

    private func refused(_ status: Int, _ text: String) -> Reply { .response(.text(status, text)) }

    private static let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options]

    // MARK: Paths and methods

    @Test(arguments: [HTTPRequest.Method.get, .head]) func respondsToPublicPaths(method: HTTPRequest.Method) {
        #expect(reply(method, "/healthz") == .liveness)
        #expect(reply(method, "/readyz") == .readiness)
        #expect(reply(method, "/metrics") == .metrics)
    }

    @Test(arguments: ["/healthz", "/readyz", "/metrics"]) func publicPathsAllowOnlyGetAndHead(path: String) {
        for method in Self.methods where method != .get && method != .head && (path == "/metrics" || method != .options) {
            let expected = HTTPResponse.text(405, "Method not allowed: use GET, HEAD", headers: ["Allow": "GET, HEAD"])
            #expect(reply(method, path) == .response(expected), "\(method)")
        }
    }

    /// Some load balancers ask so whether a server lives.
    @Test(arguments: ["/healthz", "/readyz"]) func optionsOfHealthAre204(path: String) {
        let response = httpResponse(reply(.options, path))
        #expect(response?.status == 204 && response?.body == [] && response?.headers["Allow"] == "GET, HEAD, OPTIONS")
    }

    @Test(arguments: ["events", "batch_events", "users/1/terminate_connections"]) func commandsAllowOnlyPost(path: String) {
        for method in Self.methods where method != .post {
            let expected = HTTPResponse.text(405, "Method not allowed: use POST", headers: ["Allow": "POST"])
            #expect(reply(signed(method, "/apps/1001/" + path)) == .response(expected), "\(method)")
        }
    }

    /// The official SDK for Python sends this path.
    @Test func keyNamesTheApplicationOfAPathWithoutOne() {
        let path = "/users/a:b/c/terminate_connections"
        #expect(reply(signed(.post, path)) == .terminate(["a:b/c"], app: 0))
        var other = Call("{}", key: "key2")
        other.path = path
        #expect(reply(other.signed("secret2")) == .terminate(["a:b/c"], app: 1))
        #expect(httpResponse(reply(other.signed("secret1")))?.status == 401)
        #expect(reply(other.with("auth_key", "none").signed("secret2")) == refused(401, "Unknown auth_key"))
        #expect(reply(other.with("auth_key", nil).signed("secret2")) == refused(401, "Unknown auth_key"))
        #expect(httpResponse(reply(signed(.get, path)))?.status == 405)
        for path in ["/users", "/users/a", "/users/terminate_connections", "/users/a/other"] {
            #expect(httpResponse(reply(signed(.post, path)))?.status == 404, "\(path)")
        }
    }

    @Test(arguments: ["channels", "channels/x", "channels/presence-x/users"]) func queriesAllowOnlyGetAndHead(path: String) {
        for method in Self.methods where method != .get && method != .head {
            let expected = HTTPResponse.text(405, "Method not allowed: use GET", headers: ["Allow": "GET"])
            #expect(reply(signed(method, "/apps/1001/" + path)) == .response(expected), "\(method)")
        }
    }

    @Test(arguments: ["/app/key1", "/app/unknown", "/app/"]) func appPathRequiresAWebSocket(path: String) {
        for method in Self.methods {
            let headers: HTTPHeaders = ["Connection": "Upgrade", "Upgrade": "websocket"]
            #expect(reply(method, path) == .response(.text(426, "This is a WebSocket endpoint", headers: headers)))
        }
    }

    static let unknown = [
        "/", "//", "///", "/x", "/healthz/", "//healthz", "/healthz/x", "/Healthz", "/HEALTHZ", "/healthz ", "/health",
        "/../healthz", "/./healthz", "/readyz/", "/metrics/", "/metrics/x", "/app", "/app/key1/", "/app/key1/x",
        "/App/key1", "/apps", "/apps/", "/apps/1001", "/Apps/1001/events", "//apps/1001/events", "/é", "/%2e",
    ]

    @Test(arguments: unknown) func rejectsUnknownPaths(path: String) {
        for method in Self.methods { #expect(reply(method, path) == refused(404, "Unknown path: \(path)"), "\(method)") }
    }

    static let unknownBelowAnApplication = [
        "", "event", "Events", "events/", "events/x", "/events", "%65vents", "channels/a/b", "users/1", "é",
    ]

    @Test(arguments: unknownBelowAnApplication) func signedRequestsToUnknownPathsGet404(path: String) {
        let path = "/apps/1001/" + path
        for method in Self.methods {
            #expect(reply(signed(method, path)) == refused(404, "Unknown path: \(path)"), "\(method)")
            #expect(httpResponse(reply(method, path))?.status == 401, "\(method)")
        }
    }

    @Test func truncatesALongPathInTheError() throws {
        for path in ["/" + String(repeating: "x", count: 8_000), "/" + String(repeating: "é", count: 1_300)] {
            let response = try #require(httpResponse(reply(.get, path)))
            #expect(response.status == 404 && response.body.count < 600)
        }
    }

    // MARK: Publishing

    @Test func publishesForTheSigningApplication() {
        #expect(reply(Call().signed()) == .publish(["c"], app: 0, except: nil))
        var call = Call(#"{"name":"e","channels":["b","a","b"],"data":"","socket_id":"7.5"}"#, key: "key2")
        call.path = "/apps/1002/events"
        #expect(reply(call.signed("secret2")) == .publish(["b", "a"], app: 1, except: SocketID("7.5")))
    }

    @Test(arguments: ["9999", "0", "", "1001x", "01001", "-1", "10011", " 1001", "１００１", "key1", "*"])
    func rejectsUnknownApplications(id: String) {
        var call = Call()
        call.path = "/apps/\(id)/events"
        #expect(reply(call) == refused(404, "Unknown application \(id)"))
        #expect(reply(call.signed()) == refused(404, "Unknown application \(id)"))
    }

    @Test func rejectsUnsignedRequests() {
        #expect(reply(Call()) == refused(401, "Missing parameter: auth_signature"))
        #expect(httpResponse(reply(Call().signed("secret2")))?.status == 401)
    }

    @Test func rejectsAnotherApplicationsSignature() {
        #expect(reply(Call(key: "key2").signed("secret2")) == refused(401, "Unknown auth_key"))
    }

    @Test func rejectsADisabledApplicationAfterTheSignature() {
        var call = Call(key: "key3")
        call.path = "/apps/1003/events"
        #expect(reply(call.signed("secret3")) == refused(403, "Application 1003 is disabled"))
        #expect(reply(call) == refused(401, "Missing parameter: auth_signature"))
    }

    /// An unsigned request gets no error about its body.
    @Test(arguments: ["", "{", "[]", #"{"name":1}"#]) func checksTheSignatureBeforeTheBody(body: String) {
        #expect(reply(Call(body)) == refused(401, "Missing parameter: auth_signature"))
    }

    @Test func returnsErrorsOfTheBody() {
        #expect(reply(Call("").signed()) == refused(400, "The body is not a JSON object: expected an object at byte 0"))
        let long = #"{"name":"e","channel":"c","data":"\#(String(repeating: "x", count: 10_241))"}"#
        #expect(httpResponse(reply(Call(long).signed()))?.status == 413)
    }

    // MARK: Metrics

    @Test func servesMetricsOnlyToThisMachineIfNoTokenIsConfigured() {
        let call = Call.get("/metrics")
        #expect(reply(call, isLoopback: true) == .metrics)
        let expected = refused(
            403,
            "Metrics require a JWT of role admin or ops, or metrics.token to be set; without it, only requests from this machine "
                + "to localhost, 127.0.0.1 or [::1] need none")
        for authorization in [nil, "", "Bearer", "Bearer ", "Bearer token"] {
            #expect(reply(call, authorization: authorization, isLoopback: false) == expected)
        }
    }

    @Test func servesMetricsToRequestsWithTheToken() {
        for isLoopback in [true, false] {
            let served = reply(
                Call.get("/metrics"), authorization: "Bearer t0ken", isLoopback: isLoopback, metricsToken: "t0ken")
            #expect(served == .metrics)
        }
    }

    @Test(arguments: [
        nil, "", "Bearer", "Bearer ", "t0ken", "Bearert0ken", "Bearer t0ke", "Bearer t0kenx", "Bearer T0KEN",
        "Bearer  t0ken", "Basic t0ken", "Bearer t0ken, Bearer t0ken", "Bearer t0ken\u{301}",
    ])
    func rejectsOtherAuthorizationForMetrics(authorization: String?) {
        for isLoopback in [true, false] {
            let served = reply(
                Call.get("/metrics"), authorization: authorization, isLoopback: isLoopback, metricsToken: "t0ken")
            let text = "Expected Authorization: Bearer and the value of metrics.token, or Bearer and a JWT of role admin or ops"
            #expect(served == .response(.text(401, text, headers: ["WWW-Authenticate": "Bearer"])))
        }
    }

    @Test func healthAndReadinessRequireNoToken() {
        #expect(reply(Call.get("/healthz"), isLoopback: false, metricsToken: "t0ken") == .liveness)
        #expect(reply(Call.get("/readyz"), isLoopback: false, metricsToken: "t0ken") == .readiness)
    }
}
