import Access
import Fleet
import HTTP
import Primitives
import PusherAPI
import Testing

/// Every endpoint, with every method and every role.
@Suite struct FleetEndpointTests {
    struct Endpoint: CustomTestStringConvertible {
        let path: String
        /// The allowed methods, each with a valid body.
        let methods: [HTTPRequest.Method: String]
        /// `Allow` in the 405 response to other methods.
        let allow: String
        let roles: [Role]

        var testDescription: String { path }
    }

    private static let allRoles: [Role] = [.admin, .driver, .customer, .ops]
    private static let channelAuthorization = #"{"socket_id":"1.2","channel_name":"private-x"}"#

    static let endpoints: [Endpoint] =
        [
            Endpoint(path: "/pusher/auth", methods: [.post: channelAuthorization], allow: "POST", roles: allRoles),
            Endpoint(path: "/pusher/user-auth", methods: [.post: channelAuthorization], allow: "POST", roles: allRoles),
            Endpoint(path: "/api/admin/orders/A1", methods: read([.put: ""]), allow: "GET, PUT, HEAD", roles: [.admin]),
            Endpoint(path: "/api/admin/routes/R1", methods: read([.put: ""]), allow: "GET, PUT, HEAD", roles: [.admin]),
            Endpoint(path: "/api/admin/drivers/42", methods: read([.put: ""]), allow: "GET, PUT, HEAD", roles: [.admin]),
            Endpoint(
                path: "/api/admin/notifications", methods: [.post: #"{"type":"DRIVER_APPROVED","to":{"driver":"1"}}"#],
                allow: "POST", roles: [.admin]),
            Endpoint(path: "/api/driver/jobs", methods: read(), allow: "GET, HEAD", roles: [.driver]),
            Endpoint(path: "/api/driver/jobs/A1/accept", methods: [.post: ""], allow: "POST", roles: [.driver]),
            Endpoint(path: "/api/driver/routes/R1/accept", methods: [.post: ""], allow: "POST", roles: [.driver]),
            Endpoint(
                path: "/api/driver/jobs/A1/progress", methods: [.put: #"{"step":"arrived"}"#], allow: "PUT", roles: [.driver]),
            Endpoint(
                path: "/api/auth/fcm-token", methods: [.post: #"{"fcmToken":"t"}"#, .delete: #"{"fcmToken":"t"}"#],
                allow: "POST, DELETE", roles: [.driver, .customer]),
            Endpoint(
                path: "/app-register-device",
                methods: [.post: #"{"deviceToken":"t","platform":"android"}"#, .delete: #"{"deviceToken":"t"}"#],
                allow: "POST, DELETE", roles: [.driver, .customer]),
            Endpoint(path: "/api/driver/devices", methods: read(), allow: "GET, HEAD", roles: [.driver]),
            Endpoint(path: "/api/customer/devices", methods: read(), allow: "GET, HEAD", roles: [.customer]),
            Endpoint(path: "/api/driver/preferences", methods: read([.put: ""]), allow: "GET, PUT, HEAD", roles: [.driver]),
            Endpoint(path: "/api/customer/preferences", methods: read([.put: ""]), allow: "GET, PUT, HEAD", roles: [.customer]),
            Endpoint(path: "/api/admin/people/driver/42", methods: [.delete: ""], allow: "DELETE", roles: [.admin]),
            Endpoint(path: "/api/admin/people/customer/9", methods: [.delete: ""], allow: "DELETE", roles: [.admin]),
            Endpoint(path: "/api/ops/push", methods: read(), allow: "GET, HEAD", roles: [.admin, .ops]),
            Endpoint(path: "/api/ops/stats", methods: read(), allow: "GET, HEAD", roles: [.admin, .ops]),
            Endpoint(path: "/api/ops/notifications", methods: read(), allow: "GET, HEAD", roles: [.admin, .ops]),
            Endpoint(path: "/api/ops/notifications/N1", methods: read(), allow: "GET, HEAD", roles: [.admin, .ops]),
        ]
        + [Role.driver, .customer].flatMap { role in
            let path = "/api/\(role.rawValue)/notifications"
            return [
                Endpoint(path: path, methods: read(), allow: "GET, HEAD", roles: [role]),
                Endpoint(path: path + "/read", methods: [.post: #"{"all":true}"#], allow: "POST", roles: [role]),
                Endpoint(path: path + "/log", methods: [.post: FleetTelemetryTests.event()], allow: "POST", roles: [role]),
            ]
        }
        + ["assign-driver", "unassign", "cancel-enhanced", "remove-driver"].map {
            action("/api/admin/orders/A1/\($0)")
        }
        + ["assign-driver", "unassign", "cancel", "drops/D1/remove"].map { action("/api/admin/routes/R1/\($0)") }

    /// The methods of an endpoint that can be read: GET and HEAD, each without a body, in addition to `others`.
    private static func read(_ others: [HTTPRequest.Method: String] = [:]) -> [HTTPRequest.Method: String] {
        others.merging([.get: "", .head: ""]) { $1 }
    }

    private static func action(_ path: String) -> Endpoint {
        Endpoint(path: path, methods: [.post: #"{"driverId":"42"}"#], allow: "POST", roles: [.admin])
    }

    private static let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options]

    @Test(arguments: endpoints) func acceptsOnlyTheRolesAndMethodsOfTheEndpoint(endpoint: Endpoint) {
        for method in Self.methods {
            for role in Self.allRoles {
                let response = FleetCall(method, endpoint.path, endpoint.methods[method] ?? "", as: role).response()
                if !endpoint.roles.contains(role) {
                    #expect(response?.status == 403, "\(method) \(role)")
                } else if endpoint.methods[method] == nil {
                    #expect(response?.status == 405 && response?.headers["Allow"] == endpoint.allow, "\(method) \(role)")
                } else {
                    #expect(response == nil || response?.status == 200, "\(method) \(role): \(response?.text ?? "")")
                }
            }
            #expect(FleetCall(method, endpoint.path, as: nil).status() == 401, "\(method)")
        }
    }

    @Test func forbiddenErrorsNameTheRoles() {
        let text = "403 Requires role admin or ops; the token has role driver"
        #expect(FleetCall(.get, "/api/ops/stats", as: .driver).refusal == text)
        #expect(
            FleetCall(.get, "/api/driver/jobs", as: .admin).refusal
                == "403 Requires role driver; the token has role admin")
        #expect(FleetCall(.get, "/api/customer/x", as: .customer).refusal == "404 Unknown path: /api/customer/x")
        #expect(FleetCall(.get, "/api/customer/x", as: .driver).status() == 403)
        #expect(
            FleetCall(.post, "/api/auth/fcm-token").response()?.text
                == #"{"message":"Forbidden","data":null,"error":"Requires role driver or customer; the token has role admin"}"#)
        #expect(
            FleetCall(.get, "/app-register-device", as: .ops).refusal
                == "403 Requires role driver or customer; the token has role ops")
    }

    // MARK: Actions and queries

    private static let driver = Assignment.Driver(id: Identifier("42"))
    private static let orderActions: [(String, OrderAction.Kind)] = [
        ("assign-driver", .assign(driver)), ("unassign", .unassign), ("cancel-enhanced", .cancel),
        ("remove-driver", .removeDriver),
    ]

    @Test(arguments: orderActions) func readsOrderActions(pathEnd: String, kind: OrderAction.Kind) {
        var action = OrderAction(code: "A-1=;", kind)
        if kind != .assign(Self.driver) { action.fallbackDriver = Self.driver.id }
        let call = FleetCall(.post, "/api/admin/orders/A-1=;/\(pathEnd)", #"{"driverId":"42"}"#)
        #expect(call.action == .order(action))
        #expect(call.command?.actor == FleetCall.identity(.admin) && call.command?.correlationID == "c1")
        #expect(call.command?.expectedVersions == nil && call.command?.idempotencyKey == nil)
    }

    private static let routeActions: [(String, RouteAction.Kind)] = [
        ("assign-driver", .assign(driver)), ("unassign", .unassign), ("cancel", .cancel),
        ("drops/D.2/remove", .removeDrop("D.2")),
        ("drops/drops/remove", .removeDrop("drops")), ("drops/remove/remove", .removeDrop("remove")),
    ]

    @Test(arguments: routeActions) func readsRouteActions(pathEnd: String, kind: RouteAction.Kind) {
        var action = RouteAction(id: "R1", kind)
        if kind != .assign(Self.driver) { action.fallbackDriver = Self.driver.id }
        #expect(FleetCall(.post, "/api/admin/routes/R1/\(pathEnd)", #"{"driverId":"42"}"#).action == .route(action))
    }

    @Test func readsUpdates() {
        #expect(FleetCall(.put, "/api/admin/orders/A1").action == .order(OrderAction(code: "A1", .update)))
        #expect(FleetCall(.put, "/api/admin/routes/R1").action == .route(RouteAction(id: "R1", .update)))
    }

    @Test func readsAcceptances() {
        #expect(FleetCall(.post, "/api/driver/jobs/A1/accept", as: .driver).action == .acceptJob("A1"))
        #expect(FleetCall(.post, "/api/driver/routes/R1/accept", as: .driver).action == .acceptRoute("R1"))
        #expect(FleetCall(.post, "/api/driver/jobs/A1/accept", as: .driver).command?.actor == FleetCall.identity(.driver))
    }

    @Test func readsQueriesWithTheSendersIdentity() {
        #expect(FleetCall(.get, "/api/admin/orders/A1").storeQuery == .order("A1"))
        #expect(FleetCall(.head, "/api/admin/routes/R1").storeQuery == .route("R1"))
        #expect(FleetCall(.get, "/api/driver/jobs", as: .driver).storeQuery == .jobs(driverID: "42"))
        for role in [Role.driver, .customer] {
            let identity = FleetCall.identity(role)
            #expect(FleetCall(.get, "/api/\(role.rawValue)/devices", as: role).storeQuery == .devices(identity))
            #expect(
                FleetCall(.get, "/api/\(role.rawValue)/notifications", as: role).storeQuery
                    == .notifications(of: identity, before: nil, limit: 50))
            for method in [HTTPRequest.Method.get, .head] {
                #expect(FleetCall(method, "/api/\(role.rawValue)/preferences", as: role).storeQuery == .preferences(identity))
            }
        }
        #expect(FleetCall(.get, "/api/ops/notifications/N1", as: .ops).storeQuery == .notificationHistory(notificationID: "N1"))
        #expect(
            FleetCall(.get, "/api/ops/notifications", as: .ops).storeQuery
                == .notificationLog(NotificationListing(), before: nil, limit: 50))
    }

    @Test func readsErasures() {
        #expect(FleetCall(.delete, "/api/admin/people/driver/4-2=;").action == .erase(.driver, id: "4-2=;"))
        #expect(FleetCall(.delete, "/api/admin/people/customer/9", "{}").action == .erase(.customer, id: "9"))
        #expect(FleetCall(.delete, "/api/admin/people/customer/9").command?.actor == FleetCall.identity(.admin))
        for id in ["", "a b", "é", String(repeating: "x", count: 151)] {
            let call = FleetCall(.delete, "/api/admin/people/driver/\(id)")
            #expect(call.refusal?.hasPrefix("400 Expected \"id\" to be 1 to 150 characters of") == true, "\(id)")
        }
        #expect(FleetCall(.delete, "/api/admin/people/driver/42", "[]").status() == 400)
    }

    // MARK: Unknown paths

    static let unknown = [
        "/pusher", "/pusher/", "/pusher/auth/", "/pusher/auth/x", "/pusher/Auth", "/pusher/user_auth", "/pusher//auth", "/api",
        "/api/", "/api/x", "/api/admin", "/api/admin/", "/api/admin/orders", "/api/admin/orders/A1/",
        "/api/admin/orders/A1/cancel",
        "/api/admin/orders/A1/assign", "/api/admin/orders/A1/assign-driver/", "/api/admin/orders/A1/assign-driver/x",
        "/api/admin/order/A1", "/api/admin/routes", "/api/admin/routes/R1/cancel-enhanced", "/api/admin/routes/R1/remove-driver",
        "/api/admin/routes/R1/drops/D1", "/api/admin/routes/R1/drops//remove/", "/api/admin/routes/R1/drop/D1/remove",
        "/api/admin/routes/R1/drops/D1/removed", "/api/admin/orders/A1/drops/D1/remove", "/api/admin/notifications/",
        "/api/admin/notifications/1", "/api/ops", "/api/ops/", "/api/ops/stats/", "/api/ops/stats/x",
        "/api/ops/notifications/a/b",
        "/api/ops/metrics", "/api/ops/push/", "/api/ops/push/x", "/api/auth", "/api/auth/", "/api/auth/login",
        "/api/auth/fcm-token/", "/api/auth/fcm-token/x", "/api/auth/FCM-token", "/api/auth//fcm-token", "/api/delivery/x",
        "/api/delivery/fcm-token", "/app-register-device/", "/app-register-device/x", "/app-register-devices", "/app-x", "/app-",
        "/api/admin/people", "/api/admin/people/driver", "/api/admin/people/driver/42/", "/api/admin/people/admin/7",
        "/api/admin/people/ops/o1", "/api/admin/people/Driver/42", "/api/admin/people//42", "/api/admin/devices",
        "/api/admin/preferences", "/api/fcm-token", "/api/devices",
    ]

    @Test(arguments: unknown) func rejectsUnknownPaths(path: String) {
        for method in Self.methods { #expect(FleetCall(method, path).refusal == "404 Unknown path: \(path)", "\(method)") }
        #expect(FleetCall(.post, path, as: nil).status() == 401, "without a token, the response does not show which paths exist")
    }

    @Test(arguments: [
        "/api/driver", "/api/driver/job", "/api/driver/jobs/", "/api/driver/jobs/A1", "/api/driver/jobs/A1/accept/",
        "/api/driver/jobs/A1/Accept", "/api/driver/routes", "/api/driver/routes/R1/progress", "/api/driver/notifications/",
        "/api/driver/notifications/x", "/api/driver/notifications/read/1", "/api/driver/devices/",
        "/api/driver/devices/1", "/api/driver/preferences/", "/api/driver/preferences/types", "/api/driver/people/driver/42",
    ]) func rejectsUnknownDriverPaths(path: String) {
        #expect(FleetCall(.get, path, as: .driver).refusal == "404 Unknown path: \(path)")
        #expect(FleetCall(.get, path).status() == 403, "the role is checked before the path")
    }

    // MARK: Envelopes

    private static let envelopes: [(String, String)] = [
        ("/api/x", #"{"success":false,"error":"Unknown path: /api/x"}"#),
        ("/app-x", #"{"success":false,"error":"Unknown path: /app-x"}"#),
        ("/api/auth/x", #"{"message":"Resource not found","data":null,"error":"Unknown path: /api/auth/x"}"#),
        ("/api/delivery/x", #"{"message":"Resource not found","data":null,"error":"Unknown path: /api/delivery/x"}"#),
        ("/api/ops/x", #"{"error":"Unknown path: /api/ops/x"}"#),
        ("/pusher/x", #"{"error":"Unknown path: /pusher/x"}"#),
        ("/api/authx", #"{"success":false,"error":"Unknown path: /api/authx"}"#),
        (#"/api/"\"#, #"{"success":false,"error":"Unknown path: /api/\"\\"}"#),
    ]

    @Test(arguments: envelopes) func usesTheEnvelopeOfTheGroup(path: String, body: String) {
        #expect(FleetCall(.get, path).response() == .json(404, body.utf8))
    }

    @Test(arguments: ["/x", "/", "/apps/1001", "/App-x", "/pushers/auth", "/API/ops/stats"])
    func usesPlainTextOutsideTheFleetAPI(path: String) {
        #expect(FleetCall(.get, path).response() == .text(404, "Unknown path: \(path)"))
    }
}
