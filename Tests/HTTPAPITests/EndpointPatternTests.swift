import HTTP
import JSON
import Testing

@testable import Fleet
@testable import PusherAPI

/// How metrics and log lines name the path of a request.
@Suite struct EndpointPatternTests {
    private let router = Router.example([Application.example(index: 0)])

    private func pattern(_ path: String, _ method: HTTPRequest.Method = .get) -> String {
        var call = Call.get(path)
        call.method = method
        return call.asRequest { request in
            let pattern = router.route(head: request, now: Call.now).pattern
            #expect(router.pattern(of: request) == pattern)
            return router.patterns[pattern.index]
        }
    }

    @Test(arguments: [
        ("/healthz", "/healthz"), ("/readyz", "/readyz"), ("/metrics", "/metrics"), ("/app/key1", "/app/{key}"),
        ("/console", "/console"), ("/console/a.js", "/console/{file}"), ("/console/a/b", "other"), ("/", "other"),
        ("/apps/1001/events", "/apps/{id}/events"), ("/apps/1001/batch_events", "/apps/{id}/batch_events"),
        ("/apps/1001/channels", "/apps/{id}/channels"), ("/apps/1001/channels/a%2Fb", "/apps/{id}/channels/{channel}"),
        ("/apps/1001/channels/a/users", "/apps/{id}/channels/{channel}/users"),
        ("/apps/1001/users/a/b/terminate_connections", "/apps/{id}/users/{user}/terminate_connections"),
        ("/users/a/b/terminate_connections", "/users/{user}/terminate_connections"), ("/users/a/events", "other"),
        ("/apps/9/events", "/apps/{id}/events"), ("/apps/1001/none", "other"), ("/apps/1001", "other"),
        ("/api/driver/jobs/A-1/accept", "/api/driver/jobs/{id}/accept"), ("/api/driver/jobs", "/api/driver/jobs"),
        ("/api/admin/routes/R/drops/D/remove", "/api/admin/routes/{routeId}/drops/{dropId}/remove"),
        ("/api/driver/none", "other"), ("/api/none", "other"), ("/api/ops/stats", "/api/ops/stats"),
    ]) func pathHasItsPatternWhateverTheResponse(_ path: String, _ expected: String) {
        for method in [HTTPRequest.Method.get, .post, .delete] { #expect(pattern(path, method) == expected, "\(method)") }
    }

    @Test func everyPatternOccursOnce() {
        #expect(Set(router.patterns).count == router.patterns.count)
        #expect(router.patterns.contains("/api/ops/connections"))
    }
}
