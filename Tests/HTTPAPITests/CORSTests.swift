import HTTP
import HTTPAPI
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
        "/apps/1001/events", "/apps/1001/x",
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

    @Test(arguments: ["/", "/healthz", "/metrics", "/apps/9/events", "/app/key1", "/pushers", "/apps"])
    func sendsNoHeadersForPathsThatBelongToNoApplication(path: String) {
        #expect(headers(path, origin: "https://a.example", ["*", "https://a.example"]) == [:])
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
