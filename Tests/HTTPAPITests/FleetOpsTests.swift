import Access
import FanOut
import Fleet
import HTTP
import PusherAPI
import PusherProtocol
import Testing

/// Access to `/api/ops/*` without a JWT: with the metrics token or, if no metrics token is configured, from this
/// machine.
@Suite struct FleetOpsTests {
    private func call(_ path: String = "/api/ops/stats", _ fields: [HTTPRequest.Field: String] = [:], isLoopback: Bool = true)
        -> FleetCall
    {
        var call = FleetCall(.get, path, as: nil)
        call.fields = fields
        call.isLoopback = isLoopback
        return call
    }

    private func opsCall(_ path: String) -> FleetCall { FleetCall(.get, path, as: .ops) }

    private func isStats(_ call: FleetCall, metricsToken: String) -> Bool {
        if case .stats = call.apiAction(FleetCall.router(metricsToken: metricsToken)) { true } else { false }
    }

    private func isPushReport(_ call: FleetCall, metricsToken: String = "") -> Bool {
        if case .pushReport? = call.apiAction(FleetCall.router(metricsToken: metricsToken)).ofFleet { true } else { false }
    }

    @Test func acceptsTheMetricsTokenFromAnyAddress() {
        for isLoopback in [true, false] {
            for others in [[:], [.cookie: "a=b"], [.origin: "https://a.example"]]
                as [[HTTPRequest.Field: String]]
            {
                let fields = others.merging([.authorization: "Bearer t0ken"]) { $1 }
                #expect(isStats(call("/api/ops/stats", fields, isLoopback: isLoopback), metricsToken: "t0ken"))
            }
        }
    }

    @Test(arguments: [
        nil, "", "Bearer", "Bearer ", "bearer t0ken", "Bearer t0ke", "Bearer t0kenx", "Bearer  t0ken", "t0ken", "Basic t0ken",
    ])
    func rejectsOtherAuthorizationIfThereIsAMetricsToken(authorization: String?) {
        for isLoopback in [true, false] {
            var call = call(isLoopback: isLoopback)
            call.fields[.authorization] = authorization
            #expect(call.status(FleetCall.router(metricsToken: "t0ken")) == 401)
        }
    }

    @Test func acceptsThisMachineIfThereIsNoMetricsToken() {
        #expect(isStats(call(), metricsToken: ""))
        #expect(call(isLoopback: false).status() == 401)
        for path in ["/api/ops/notifications", "/api/ops/notifications/N1", "/api/ops/x"] {
            #expect(call(path).status() == 401, "only statistics and the push report are available without a JWT")
        }
    }

    /// The push report contains no personal data, so it has the same access rules as the statistics.
    @Test func pushReportHasTheAccessRulesOfStats() {
        #expect(isPushReport(call("/api/ops/push")))
        #expect(isPushReport(FleetCall(.head, "/api/ops/push", as: .ops)) && isPushReport(FleetCall(.get, "/api/ops/push")))
        #expect(isPushReport(call("/api/ops/push", [.authorization: "Bearer t0ken"], isLoopback: false), metricsToken: "t0ken"))
        #expect(call("/api/ops/push").status(FleetCall.router(metricsToken: "t0ken")) == 401)
        #expect(call("/api/ops/push", isLoopback: false).status() == 401)
        for field in [HTTPRequest.Field.cookie, .authorization, .origin] {
            #expect(call("/api/ops/push", [field: "a=b"]).status() == 401)
        }
    }

    /// A browser on this machine may send requests for a web page of any origin. So a request with a cookie, an origin
    /// or an Authorization header needs a JWT or the metrics token.
    @Test(
        arguments: [
            (.cookie, "session=x"), (.cookie, "a=b"), (.authorization, "Bearer "),
            (.authorization, "Bearer x"), (.origin, "https://evil.example"), (.origin, "null"),
        ] as [(HTTPRequest.Field, String)])
    func rejectsBrowsersOnThisMachine(field: HTTPRequest.Field, value: String) {
        #expect(call("/api/ops/stats", [field: value]).status() == 401)
        #expect(call("/api/ops/notifications", [field: value]).status() == 401)
    }

    /// A browser believes a page to be of this server if the page's name leads to this machine (DNS rebinding). Its `Host` is
    /// that name.
    @Test(arguments: ["/metrics", "/api/ops/stats", "/api/ops/push"]) func answersWithoutATokenOnlyUnderANameOfThisMachine(
        path: String
    ) {
        func status(_ host: String, _ fields: [HTTPRequest.Field: String] = [:], isLoopback: Bool = true) -> Int? {
            call(path, fields.merging([.host: host]) { $1 }, isLoopback: isLoopback).status()
        }
        let refusal = path == "/metrics" ? 403 : 401
        for host in ["localhost", "LocalHost:6001", "127.0.0.1", "127.8.9.10:80", "[::1]", "[::1]:6001"] {
            #expect(status(host) == nil && status(host, isLoopback: false) == refusal, "\(host)")
            #expect(status(host, [.origin: "http://localhost"]) == refusal, "a page of another port has an Origin")
        }
        for host in ["evil.example", "127.evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", ""] {
            #expect(status(host) == refusal, "\(host)")
            let ops = "Bearer " + FleetCall.token(for: FleetCall.identity(.ops))
            #expect(status(host, [.authorization: ops]) == nil, "with a token any name will do")
        }
    }

    /// The metrics token and the loopback address replace a JWT on two paths below `/api/ops/`, and on no other path of
    /// the fleet's API.
    @Test(arguments: [
        "/api/admin/orders/A1", "/api/driver/jobs", "/pusher/auth", "/api/opsx/stats", "/api//ops/stats", "/api/x", "/app-x",
        "/api/auth/x", "/api/Ops/stats",
    ]) func metricsTokenAndLoopbackAllowNoOtherPath(path: String) {
        for method in [HTTPRequest.Method.get, .head, .post, .put, .delete] {
            var call = call(path)
            call.method = method
            #expect(call.status() == 401)
            #expect(call.with(.authorization, "Bearer t0ken").status(FleetCall.router(metricsToken: "t0ken")) == 401)
        }
    }

    @Test func checksMethodAndSize() {
        for method in [HTTPRequest.Method.post, .put, .patch, .delete, .options] {
            var call = opsCall("/api/ops/notifications/N1")
            call.method = method
            #expect(call.response()?.headers["Allow"] == "GET, HEAD")
        }
        var long = call()
        long.body = [UInt8](repeating: 0, count: RoutedRequest.discardedBodyBytesMax + 1)
        #expect(long.status() == 413)
    }

    @Test func readsConnectionQueries() {
        func query(_ cluster: String?, _ before: String?) -> (cursor: ConnectionCursor?, isOfCluster: Bool)? {
            var call = opsCall("/api/ops/connections")
            if let cluster { call = call.withQuery("cluster", cluster) }
            if let before { call = call.withQuery("before", before) }
            guard case .ops(.connections(_, let before, _, let ofCluster)) = call.apiAction() else { return nil }
            return (before, ofCluster)
        }
        #expect(query(nil, nil).map { $0 == (nil, false) } == true)
        #expect(query("true", nil).map { $0 == (nil, true) } == true)
        #expect(query("false", nil).map { $0 == (nil, false) } == true)
        guard let position = Hub.ConnectionPosition("7-3.4"), let socket = SocketID("3.4") else {
            Issue.record("the texts are a position and an id")
            return
        }
        #expect(query("true", "3.4")?.cursor == .socket(socket))
        #expect(query(nil, "7-3.4")?.cursor == .position(position))
        #expect(query("true", ConnectionCursor.next(inCluster: position))?.cursor == .positionInCluster(position))
        for text in ["x", "all-", "all-7", "all-3.4", "ALL-7-3.4", "all-all-7-3.4", "7-", "all-7-0.1"] {
            #expect(query("true", text) == nil, "\(text)")
        }
    }

    @Test func readsNotificationQueries() {
        #expect(opsCall("/api/ops/notifications/N1").storeQuery == .notificationHistory(notificationID: "N1"))
        for id in ["0:1%a", "order:A-1", String(repeating: "x", count: 256)] {
            #expect(opsCall("/api/ops/notifications/" + id).storeQuery == .notificationHistory(notificationID: id))
        }
        for id in ["a b", "é", String(repeating: "x", count: 257)] {
            #expect(opsCall("/api/ops/notifications/" + id).refusal?.hasPrefix("400 Expected \"notification id\" to be") == true)
        }
        let call = opsCall("/api/ops/notifications").withQuery("channel", "driver-1").withQuery("before", "N1").withQuery(
            "limit", "7")
        #expect(call.storeQuery == .notificationLog(NotificationListing(channel: "driver-1"), before: "N1", limit: 7))
        #expect(call.withQuery("limit", "8").storeQuery == call.storeQuery, "the first value is used")
    }

    // MARK: Paging of notifications, also for drivers

    /// Values of the query parameter `limit`, and the limit that each sets; nil if the value is rejected.
    private static let limits: [(String, Int?)] = [
        ("1", 1), ("50", 50), ("200", 200), ("0", nil), ("201", nil), ("-1", nil), ("", nil), ("x", nil), ("1.0", nil),
        (" 1", nil),
        ("99999999999999999999", nil), ("٣", nil), ("1e2", nil),
    ]

    @Test(arguments: limits) func limitIsFrom1To200(text: String, limit: Int?) {
        let driver = FleetCall(.get, "/api/driver/notifications", as: .driver).withQuery("limit", text)
        let ops = opsCall("/api/ops/notifications").withQuery("limit", text)
        if let limit {
            #expect(driver.storeQuery == .notifications(of: FleetCall.identity(.driver), before: nil, limit: limit))
            #expect(ops.storeQuery == .notificationLog(NotificationListing(), before: nil, limit: limit))
        } else {
            for call in [driver, ops] { #expect(call.refusal == "400 Expected \"limit\" to be from 1 to 200") }
        }
    }

    @Test func beforeIsTheIDOfANotification() {
        let driver = FleetCall(.get, "/api/driver/notifications", as: .driver)
        #expect(
            driver.withQuery("before", "N1").storeQuery
                == .notifications(of: FleetCall.identity(.driver), before: "N1", limit: 50))
        for before in ["", "a b", "é", String(repeating: "x", count: 151)] {
            for call in [driver, opsCall("/api/ops/notifications")] {
                #expect(
                    call.withQuery("before", before).refusal?.hasPrefix("400 Expected \"before\" to be 1 to 150 characters of")
                        == true)
            }
        }
    }

    // MARK: Metrics

    private func isMetrics(_ call: FleetCall, metricsToken: String) -> Bool {
        if case .metrics = call.apiAction(FleetCall.router(metricsToken: metricsToken)) { true } else { false }
    }

    @Test(arguments: ["", "t0ken"]) func servesMetricsToAdminsAndOps(metricsToken: String) {
        for role in [Role.admin, .ops] {
            #expect(isMetrics(FleetCall(.get, "/metrics", as: role), metricsToken: metricsToken))
            #expect(isMetrics(FleetCall(.head, "/metrics", as: role), metricsToken: metricsToken))
        }
        for role in [Role.driver, .customer] {
            let call = FleetCall(.get, "/metrics", as: role)
            #expect(call.status(FleetCall.router(metricsToken: metricsToken)) == 403)
        }
    }

    /// The same cookies as for `/api/ops/*`, from the same pages.
    @Test(arguments: ["/metrics", "/api/ops/stats"]) func acceptsCookiesOfAdminsAndOps(path: String) {
        let router = FleetCall.router(metricsToken: "t0ken", origins: ["https://ops.example"])
        func status(_ role: Role, _ fields: [HTTPRequest.Field: String] = [:]) -> Int? {
            let cookie = "session=" + FleetCall.token(for: FleetCall.identity(role))
            return call(path, fields.merging([.cookie: cookie]) { $1 }, isLoopback: false).status(router)
        }
        #expect([.admin, .ops].map { status($0) } == [nil, nil])
        #expect([.driver, .customer].map { status($0) } == [403, 403])
        #expect(status(.ops, [.origin: "https://ops.example"]) == nil)
        #expect(status(.ops, [.origin: "https://evil.example"]) == 401)
        #expect(status(.ops, [.secFetchSite: "cross-site"]) == 401)
        #expect(status(.ops, [.authorization: "Bearer x"]) == 401, "a header that is invalid takes precedence")
        #expect(call(path, [.cookie: "session=x"], isLoopback: false).status(router) == 401)
    }
}
