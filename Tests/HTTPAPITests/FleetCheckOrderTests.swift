import Access
import Fleet
import HTTP
import PusherAPI
import Testing

/// If a request is wrong in several ways, the first of 401, 403, 404 (path), 405, 429, 413, 400 is reported
/// (docs/api.md, "Checks").
@Suite struct FleetCheckOrderTests {
    /// A request that fails every check.
    private var invalidInEveryWay: FleetCall {
        FleetCall(.delete, "/api/admin/orders/no code/cancel", Self.longBody, as: nil)
    }

    /// One byte longer than a command's body may be, and no JSON.
    private static let longBody = String(repeating: "{", count: 65_537)

    private func token(_ role: Role) -> String { "Bearer " + FleetCall.token(for: FleetCall.identity(role)) }

    @Test func checksAPostInTheDocumentedOrder() {
        var call = invalidInEveryWay
        #expect(call.status() == 401)
        call.fields[.authorization] = token(.driver)
        #expect(call.status() == 403)
        call.fields[.authorization] = token(.admin)
        #expect(call.status() == 404)
        call.path = "/api/admin/orders/no code/cancel-enhanced"
        #expect(call.status() == 405)
        call.method = .post
        #expect(call.refusal == "413 The body exceeds the allowed maximum (65536 bytes)")
        call.body = Array("{".utf8)
        #expect(call.refusal == "400 The body is not a JSON object: expected a member's name at byte 1")
        call.body = []
        #expect(call.refusal?.hasPrefix("400 Expected \"code\" to be 1 to 150 characters of") == true)
        call.path = "/api/admin/orders/A1/cancel-enhanced"
        #expect(call.status() == nil)
    }

    @Test func checksADeleteInTheDocumentedOrder() {
        var call = FleetCall(.put, "/api/auth/fcm-token", Self.longBody, as: nil)
        #expect(call.status() == 401)
        call.fields[.authorization] = token(.ops)
        #expect(call.status() == 403)
        call.fields[.authorization] = token(.customer)
        #expect(call.response()?.headers["Allow"] == "POST, DELETE")
        call.method = .delete
        #expect(call.refusal == "413 The body exceeds the allowed maximum (65536 bytes)", "the error names no field")
        call.body = Array("{".utf8)
        #expect(call.refusal == "400 The body is not a JSON object: expected a member's name at byte 1")
        call.body = []
        let fields = #"{"fcmToken":"Expected \"fcmToken\": a string is required"}"#
        #expect(call.response()?.text == #"{"message":"Validation error","data":null,"error":{"fields":\#(fields)}}"#)
        #expect(call.withQuery("fcmToken", "t").status() == nil)
    }

    @Test func checksTheRateOfAuthorizationsAfterThePathAndBeforeTheBody() {
        let router = Router(
            apps: [.example()], metricsToken: "",
            fleet: .example([.example()], issuers: [FleetCall.issuer], permits: { $0.person?.id != "42" || $1 != .authorization })
        )
        for path in ["/pusher/auth", "/pusher/user-auth"] {
            var call = FleetCall(.get, path, Self.longBody, as: .driver)
            #expect(call.status(router) == 405)
            call.method = .post
            #expect(call.status(router) == 429)
            #expect(call.response(router)?.headers["Retry-After"] == "1")
            call.fields[.authorization] = token(.customer)
            #expect(call.status(router) == 413)
        }
        #expect(FleetCall(.get, "/api/driver/jobs", as: .driver).status(router) == nil)
    }

    @Test func checksTheRateOfCommandsAfterThePathAndBeforeTheBody() {
        let router = Router(
            apps: [.example()], metricsToken: "",
            fleet: .example([.example()], issuers: [FleetCall.issuer], permits: { $0.person?.id != "42" || $1 != .command }))
        var call = FleetCall(.get, "/api/driver/notifications/log", Self.longBody, as: .driver)
        #expect(call.status(router) == 405)
        call.method = .post
        #expect(call.refusal(router) == "429 Too many commands of driver:42: try again")
        #expect(call.response(router)?.headers["Retry-After"] == "1")
        for path in ["/api/driver/jobs", "/api/driver/notifications"] {
            #expect(FleetCall(.get, path, as: .driver).status(router) == nil, "a read is no command")
        }
        let erase = FleetCall(.delete, "/api/admin/people/driver/42", as: .admin)
        #expect(erase.status(router) == nil, "another subject")
    }

    @Test func checksTheRateOfQueriesAfterThePath() {
        let router = Router(
            apps: [.example()], metricsToken: "",
            fleet: .example([.example()], issuers: [FleetCall.issuer], permits: { $0.person?.id != "42" || $1 != .query }))
        for path in ["/api/driver/jobs", "/api/driver/notifications", "/api/driver/preferences"] {
            #expect(FleetCall(.delete, path, as: .driver).status(router) == 405)
            let call = FleetCall(.get, path, as: .driver)
            #expect(call.refusal(router) == "429 Too many queries of driver:42: try again")
            #expect(call.response(router)?.headers["Retry-After"] == "1")
        }
        #expect(FleetCall(.get, "/api/customer/notifications", as: .customer).status(router) == nil, "another subject")
        let report = FleetCall(.post, "/api/driver/notifications/read", "{}", as: .driver)
        #expect(report.refusal(router)?.hasPrefix("429") != true, "a write is no query")
    }

    @Test func checksAuthorizationBeforeTheBody() {
        for path in ["/pusher/auth", "/pusher/user-auth", "/api/driver/notifications/log", "/app-register-device"] {
            let call = FleetCall(.post, path, Self.longBody, as: nil)
            #expect(call.status() == 401)
            #expect(call.response()?.headers["WWW-Authenticate"]?.hasPrefix("Bearer ") == true)
        }
    }

    @Test func ignoresTheBodyOfAGet() {
        #expect(FleetCall(.get, "/api/admin/orders/A1", "{").storeQuery == .order("A1"))
        #expect(FleetCall(.get, "/api/driver/jobs", "\u{0}", as: .driver).storeQuery == .jobs(driverID: "42"))
    }

    /// A preflight has no credentials (Fetch standard), so it is handled before authentication.
    @Test func respondsToPreflightsBeforeAllChecks() {
        var call = invalidInEveryWay.with(.origin, "https://a.example")
        call.method = .options
        #expect(call.status() == 204)
        #expect(call.status(FleetCall.router(origins: ["https://b.example"])) == 403)
        #expect(call.with(.origin, nil).status() == 401)
        #expect(FleetCall(.options, "/api/driver/jobs", as: .driver).status() == 405)
    }

    // MARK: Bodies

    static let bodies = [
        "{", "[]", "\"\"", "1", "null", "{} {}", "{\"a\":}", "\u{FEFF}\u{FEFF}{}", " \u{FEFF}{}", "{'a':1}", "a=1", " ",
        "{\"a\":1,}",
    ]

    @Test(arguments: bodies) func rejectsBodiesThatAreNotAnObject(body: String) {
        for (method, path) in [
            (HTTPRequest.Method.post, "/api/admin/orders/A1/unassign"), (.put, "/api/admin/orders/A1"),
            (.put, "/api/admin/routes/A1"), (.post, "/api/admin/notifications"),
        ] {
            #expect(FleetCall(method, path, body).refusal?.hasPrefix("400 The body is not a JSON object: ") == true, "\(path)")
        }
        for path in ["jobs/A1/accept", "routes/A1/accept", "notifications/read", "notifications/log"] {
            #expect(FleetCall(.post, "/api/driver/" + path, body, as: .driver).status() == 400, "\(path)")
        }
    }

    @Test func rejectsInvalidUTF8() {
        var call = FleetCall(.post, "/api/admin/orders/A1/unassign")
        call.body = Array(#"{"reason":""#.utf8) + [0xFF] + Array(#""}"#.utf8)
        #expect(call.refusal == "400 The body is not a JSON object: invalid UTF-8 at byte 11")
    }

    @Test func limitsNestingTo64Levels() {
        func nested(_ depth: Int) -> FleetCall {
            let value = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            return FleetCall(.post, "/api/admin/orders/A1/unassign", #"{"x":\#(value)}"#).with(.idempotencyKey, "k")
        }
        #expect(nested(63).status() == nil)
        #expect(nested(64).status() == 400)
        #expect(nested(30_000).status() == 400)
    }

    @Test(arguments: ["", "{}", " {\n} ", #"{"unknown":[{"driverId":1}],"":null,"DRIVERID":1}"#])
    func acceptsAnAbsentBodyAndIgnoresUnknownMembers(body: String) {
        #expect(
            FleetCall(.post, "/api/admin/orders/A1/cancel-enhanced", body).action
                == OrderAction(code: "A1", .cancel))
    }
}
