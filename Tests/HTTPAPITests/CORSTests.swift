import Fleet
import HTTP
import PusherAPI
import Testing

/// Headers that let pages of other origins read responses (the CORS protocol of the Fetch standard).
@Suite struct CORSTests {
    private func headers(_ path: String, origin: String?, _ origins: [String]) -> HTTPHeaders {
        let router = FleetCall.router(origins: origins)
        return FleetCall(.get, path).with(.origin, origin).withRequest { router.crossOriginHeaders(for: $0) }
    }

    private func expected(_ origin: String, credentials: Bool) -> HTTPHeaders {
        let headers: HTTPHeaders = [
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Expose-Headers": "X-Correlation-ID, Idempotency-Replayed, Retry-After, WWW-Authenticate",
            "Vary": "Origin",
        ]
        return credentials
            ? HTTPHeaders(dictionaryLiteral: ("Access-Control-Allow-Credentials", "true")).adding(headers) : headers
    }

    static let paths = [
        "/pusher/auth", "/api/admin/orders/A1", "/api/driver/jobs", "/api/ops/stats", "/api/x", "/api/auth/x", "/app-x",
        "/apps/1001/events", "/apps/1001/x", "/app/key1", "/", "/healthz", "/metrics", "/apps/9/events", "/pushers", "/apps",
        "/app/9",
    ]

    @Test(arguments: paths) func allowsListedOrigins(path: String) {
        let origin = "https://A.example"
        #expect(headers(path, origin: origin, ["*"]) == expected(origin, credentials: false))
        #expect(headers(path, origin: origin, ["https://a.example"]) == expected(origin, credentials: true))
        #expect(headers(path, origin: origin, ["*", "https://a.example"]) == expected(origin, credentials: true))
        #expect(
            headers(path, origin: "https://b.a.example", ["https://*.a.example"])["Access-Control-Allow-Credentials"] == "true")
    }

    @Test(arguments: paths) func sendsNoHeadersToOtherOrigins(path: String) {
        #expect(headers(path, origin: nil, ["*"]) == [:])
        for origin in ["https://b.example", "null", "", "http://a.example", "https://a.example:1", "https://a.example.b"] {
            #expect(headers(path, origin: origin, ["https://a.example"]) == [:], "\(origin)")
            #expect(headers(path, origin: origin, []) == [:], "\(origin)")
        }
    }

    /// An application's origins count for its paths only; on paths of none, those of each application do.
    @Test func originsCountForTheirApplication() {
        let apps = [
            Application.example(origins: ["https://a.example"]),
            .example(index: 1, id: "2", key: "key2", origins: ["https://b.example"]),
        ]
        func isAllowed(_ path: String, _ origin: String) -> Bool {
            FleetCall(.get, path).with(.origin, origin).withRequest {
                Router.example(apps, issuers: [FleetCall.issuer]).crossOriginHeaders(for: $0)
            }["Access-Control-Allow-Origin"] == origin
        }
        for path in ["/api/driver/jobs", "/pusher/auth", "/apps/1001/events", "/app/key1"] {
            #expect(isAllowed(path, "https://a.example") && !isAllowed(path, "https://b.example"), "\(path)")
        }
        for path in ["/apps/2/events", "/app/key2"] {
            #expect(!isAllowed(path, "https://a.example") && isAllowed(path, "https://b.example"), "\(path)")
        }
        for path in ["/healthz", "/nowhere", "/apps/3/events"] {
            #expect(isAllowed(path, "https://a.example") && isAllowed(path, "https://b.example"), "\(path)")
            #expect(!isAllowed(path, "https://c.example"))
        }
    }

    // MARK: Requested names

    private func allowedNames(_ requested: String?, origin: String = "https://a.example") throws -> [String]? {
        let call = FleetCall(.options, "/pusher/auth", as: nil).with(.origin, origin)
            .with(.accessControlRequestHeaders, requested)
        let response = try #require(call.response(FleetCall.router(origins: ["https://a.example"])))
        return response.headers["Access-Control-Allow-Headers"]?.split(separator: ", ").map(String.init)
    }

    /// Frameworks and tracing libraries add header fields to each request of a page.
    @Test func allowsTheNamesThatAPageAsksFor() throws {
        let usual = try #require(try allowedNames(nil))
        #expect(usual.count == 6)
        for (requested, added) in [
            ("", []), ("x-csrf-token", ["x-csrf-token"]), ("baggage,sentry-trace", ["baggage", "sentry-trace"]),
            (" traceparent , \tX-Socket-ID ", ["traceparent", "X-Socket-ID"]), ("authorization,content-type", []),
            ("x,authorization,x", ["x", "x"]), ("!#$%&'*+-.^_`|~09azAZ", ["!#$%&'*+-.^_`|~09azAZ"]),
        ] {
            #expect(try allowedNames(requested) == usual + added, "\(requested)")
        }
        for requested in ["a b", "a:b", "a\"", "é", "(x)", "a/b", "{}", ",", " , ,"] {
            #expect(try allowedNames(requested) == usual, "\(requested)")
            #expect(try allowedNames("x-ok," + requested) == usual + ["x-ok"], "\(requested)")
        }
        #expect(try allowedNames("x-csrf-token", origin: "https://b.example") == nil)
    }

    @Test func boundsTheNamesThatAPageAsksFor() throws {
        let names = (0..<CORS.requestedNamesMax + 1).map { "x-\($0)" }
        #expect(try allowedNames(names.joined(separator: ","))?.suffix(2) == ["x-62", "x-63"])
        let longest = String(repeating: "x", count: CORS.requestedBytesMax)
        #expect(try allowedNames(longest)?.last == longest && allowedNames(longest + "x")?.count == 6)
    }

    @Test func respondsToPreflightsOfEveryPath() throws {
        for path in ["/", "/healthz", "/metrics", "/nowhere", "/apps/9/events", "/apps/1001/channels", "/app/key1"] {
            let call = FleetCall(.options, path, as: nil).with(.origin, "https://a.example")
            #expect(call.status(FleetCall.router(origins: ["https://a.example"])) == 204, "\(path)")
            #expect(call.status(FleetCall.router(origins: ["https://b.example"])) == 403, "\(path)")
        }
    }

    @Test func saysWhyNullIsRefused() {
        let call = FleetCall(.options, "/pusher/auth", as: nil).with(.origin, "null")
        let reason = "null is the origin of every sandboxed page and local file, so it cannot be listed"
        #expect(
            call.refusal(FleetCall.router(origins: ["https://a.example"]))
                == "403 This origin may not call this application: " + reason)
    }

    @Test(arguments: [
        "/pusher/auth", "/api/driver/jobs", "/api/nothing", "/app-x", "/api/auth/fcm-token", "/app-register-device",
        "/api/customer/preferences", "/api/admin/people/driver/42", "/api/ops/push",
    ]) func respondsToPreflights(path: String) throws {
        let call = FleetCall(.options, path, as: nil).with(.origin, "https://a.example")
        for origins in [["*"], ["https://a.example"]] {
            let response = try #require(call.response(FleetCall.router(origins: origins)))
            #expect(response.status == 204 && response.body.isEmpty)
            let allowed = try #require(response.headers["Access-Control-Allow-Headers"])
            for header in ["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "X-Correlation-ID"] {
                #expect(allowed.contains(header))
            }
            #expect(response.headers["Access-Control-Allow-Methods"] == "GET, POST, PUT, PATCH, DELETE, OPTIONS")
        }
        let refused = try #require(call.response(FleetCall.router(origins: ["https://b.example"])))
        #expect(refused.status == 403)
        #expect(refused.member("error") == "This origin may not call this application: see allowed_origins")
    }
}
