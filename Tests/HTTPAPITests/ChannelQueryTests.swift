import FanOut
import Fleet
import HTTP
import PusherAPI
import PusherProtocol
import TestSupport
import Testing

@Suite struct ChannelQueryTests {
    private let router = Router.example([
        Application.example(secrets: ["new", "secret1"], origins: ["https://a.example", "https://*.b.example"])
    ])

    private func apiAction(_ call: Call, origin: String? = nil) -> APIAction {
        RawRequest(
            call.method, RawRequest.target(call.path, query: call.signed().query), fields: origin.map { [("Origin", $0)] } ?? [],
            body: call.body
        ).withRequest { router.action(of: $0, now: Call.now) }
    }

    /// The router's response. Nil if the request leads to another action, such as a query of the hub.
    private func response(_ call: Call, origin: String? = nil) -> HTTPResponse? {
        if case .respond(let response) = apiAction(call, origin: origin) { response } else { nil }
    }

    // MARK: Requests

    @Test(arguments: [
        ("/apps/1001/channels", ""),
        ("/apps/1001/channels", "subscription_count"),
        ("/apps/1001/channels/presence-x", "user_count,subscription_count"),
        ("/apps/1001/channels/x", "cache"),
        ("/apps/1001/channels/presence-x/users", ""),
    ]) func acceptsValidQueries(path: String, info: String) {
        #expect(response(Call.get(path).with("info", info)) == nil, "the router rejected the query")
    }

    @Test(arguments: [
        ("/apps/1001/channels", "user_count"),  // Requires filter_by_prefix=presence-….
        ("/apps/1001/channels", "cache"),  // Requires the path of a single channel.
        ("/apps/1001/channels/x", "user_count"),  // Requires a presence channel.
        ("/apps/1001/channels/x", "nonsense"),  // No such attribute.
        ("/apps/1001/channels/b%d", ""),  // Not a channel name.
        ("/apps/1001/channels/x/users", ""),  // Requires a presence channel.
    ]) func rejectsInvalidQueries(path: String, info: String) {
        #expect(response(Call.get(path).with("info", info))?.status == 400)
    }

    @Test func rejectsAPrefixThatIsNotASCII() {
        #expect(response(Call.get("/apps/1001/channels").with("filter_by_prefix", "e\u{301}"))?.status == 400)
    }

    @Test func acceptsUserCountWithAPresencePrefix() {
        let call = Call.get("/apps/1001/channels").with("info", "user_count").with("filter_by_prefix", "presence-a")
        guard case .query(.channels(let prefix, let attributes), 0) = apiAction(call) else {
            Issue.record("not a query of channels")
            return
        }
        #expect(prefix == "presence-a" && attributes == .userCount)
    }

    // MARK: Responses

    private func text(_ result: ChannelQueryResult) -> String { String(decoding: result.response.body, as: UTF8.self) }

    @Test func encodesResults() throws {
        #expect(text(.channels([], [])) == #"{"channels":{}}"#)
        #expect(text(.users(["1", "a\"b"])) == #"{"users":[{"id":"1"},{"id":"a\"b"}]}"#)
        let name = try #require(ChannelName("presence-x", lengthMax: 200))
        #expect(text(.channel(name, nil, nil, [])) == #"{"occupied":false}"#)
        let none = #"{"occupied":false,"user_count":0,"cache":null}"#
        #expect(text(.channel(name, nil, nil, [.userCount, .subscriptionCount, .cache])) == none)
        let open = try #require(ChannelName("x", lengthMax: 200))
        #expect(text(.channel(open, nil, nil, .subscriptionCount)) == #"{"occupied":false,"subscription_count":0}"#)
    }

    @Test func returnsCachedDataUnchanged() throws {
        let body = Array(#"{"name":"e","channel":"cache-x","data":"{\"a\":\"\u00e9\"}"}"#.utf8)
        let event = try body.withUnsafeBytes { try EventRequest($0, rules: AppRules()) }
        let publication = event.publications[0]
        let found = ChannelQueryResult.channel(publication.channel, nil, (publication.frame, 17), .cache)
        #expect(text(found) == #"{"occupied":false,"cache":{"data":"{\"a\":\"\u00e9\"}","ttl":17}}"#)
    }

    // MARK: Origins and secrets

    @Test(arguments: [
        ("https://a.example", true), ("HTTPS://A.example", true), ("https://x.b.example", true), ("https://b.example", false),
        ("http://a.example", false), ("https://a.example.evil", false), ("https://evil-b.example", false), ("null", false),
    ]) func acceptsOnlyAllowedOrigins(origin: String, allowed: Bool) {
        var call = Call.get("/apps/1001/channels")
        call.method = .options
        #expect(response(call, origin: origin)?.status == (allowed ? 204 : 403))
        let headers = RawRequest(.get, "/apps/1001/channels", fields: [("Origin", origin)])
            .withRequest { router.crossOriginHeaders(for: $0) }
        #expect(headers["Access-Control-Allow-Origin"] == (allowed ? origin : nil))
    }

    @Test func everyConfiguredSecretVerifies() {
        let application = Application.example(secrets: ["new", "old"])
        #expect(application.verifies(Call().signed("old").query.last?.value[...] ?? "", of: Call().signedText))
        #expect(application.verifies(Call().signed("new").query.last?.value[...] ?? "", of: Call().signedText))
        #expect(!application.verifies(Call().signed("older").query.last?.value[...] ?? "", of: Call().signedText))
    }
}
