import Access
import HTTP
import PusherProtocol
import TestSupport
import Testing

@testable import Fleet
@testable import PusherAPI

/// Routing the head of a request: what is decided before the body is read.
@Suite struct RoutedRequestTests {
    private let router = Router.example([.example()], issuers: [FleetCall.issuer])

    /// The result for the head of a call, which the router gets without the body.
    private func routing(_ call: Call, _ router: Router) -> Routing {
        var head = call
        head.body = []
        return head.asRequest { router.route(head: $0, now: Call.now).routing }
    }

    private func routing(_ call: FleetCall) -> Routing {
        var head = call
        head.body = []
        return head.withRequest { router.route(head: $0, now: Call.now).routing }
    }

    private func status(_ routing: Routing) -> Int? { if case .respond(let response) = routing { response.status } else { nil } }

    private func route(_ routing: Routing) throws -> RoutedRequest {
        guard case .route(let route) = routing else {
            Issue.record("\(routing)")
            throw CancellationError()
        }
        return route
    }

    // MARK: Before the body

    @Test func rejectsAnUnsignedPublishWithoutItsBody() {
        for path in ["events", "batch_events", "users/1/terminate_connections"] {
            var call = Call()
            call.path = "/apps/1001/" + path
            #expect(status(routing(call, router)) == 401)
            #expect(status(routing(call.signed("wrong"), router)) == 401)
            #expect(status(routing(call.signed(), router)) == nil)
        }
    }

    @Test func rejectsACommandWithoutItsBody() {
        let path = "/api/admin/orders/A1/unassign"
        #expect(status(routing(FleetCall(.post, path, as: nil))) == 401)
        #expect(status(routing(FleetCall(.post, path, as: .driver))) == 403)
        #expect(status(routing(FleetCall(.post, "/api/admin/x"))) == 404)
        #expect(status(routing(FleetCall(.put, path))) == 405)
        #expect(status(routing(FleetCall(.post, path))) == nil)
    }

    /// Each call contains all errors that are checked after the one that it is rejected for.
    @Test func checksSignedRequestsInTheDocumentedOrder() {
        let router = Router.example([.example(), .example(index: 1, id: "1003", isEnabled: false)])
        var call = Call("{")
        call.method = .put
        call.path = "/apps/1003/nothing"
        #expect(status(routing(call, router)) == 401)
        #expect(status(routing(call.signed(), router)) == 403)
        call.path = "/apps/1001/nothing"
        #expect(status(routing(call.signed(), router)) == 404)
        call.path = "/apps/1001/events"
        #expect(status(routing(call.signed(), router)) == 405)
        call.method = .post
        let tooLong = Call(String(repeating: "{", count: 1_000_000)).signed()
        #expect(tooLong.asRequest { router.action(of: $0, now: Call.now) }.response?.status == 413)
        #expect(call.signed().asRequest { router.action(of: $0, now: Call.now) }.response?.status == 400)
    }

    @Test func aBodyIsCheckedAgainstTheSignedDigest() throws {
        let call = Call().signed()
        let route = try route(routing(call, router))
        for (body, expected) in [(call.body, nil), (call.body + [0x20], 401), ([], 401)] as [([UInt8], Int?)] {
            let action = body.withUnsafeBytes { route.action($0) }
            #expect(action.response?.status == expected)
        }
    }

    // MARK: Sizes

    @Test func limitsBodiesByEndpoint() throws {
        func limit(_ path: String) throws -> Int {
            var call = Call()
            call.path = "/apps/1001/" + path
            return try route(routing(call.signed(), router)).bodyBytesMax
        }
        #expect(try limit("events") == 10_240 * 6 + 200 * 12 + 1_024 + 100 * 1_555)
        #expect(try limit("batch_events") == 10 * (10_240 * 6 + 200 * 12 + 1_024 + 1_555))
        #expect(try limit("users/1/terminate_connections") == 65_536)
        #expect(try route(routing(FleetCall(.post, "/api/admin/orders/A1/unassign"))).bodyBytesMax == 65_536)
        #expect(try route(routing(FleetCall(.post, "/pusher/auth"))).bodyBytesMax == 65_536)
        #expect(try route(routing(FleetCall(.post, "/api/admin/notifications"))).bodyBytesMax == 262_144 + 10_240 * 6)
        #expect(try route(routing(FleetCall(.post, "/api/driver/notifications/read", as: .driver))).bodyBytesMax == 262_144)
    }

    @Test func requestsThatReadNoBodyHaveTheLimitZero() throws {
        #expect(try route(routing(Call.get("/apps/1001/channels").signed(), router)).bodyBytesMax == 0)
        #expect(try route(routing(Call.get("/readyz"), router)).bodyBytesMax == 0)
        for path in ["/api/ops/stats", "/api/admin/orders/A1"] {
            #expect(try route(routing(FleetCall(.get, path))).bodyBytesMax == 0)
        }
    }

    @Test func noLimitExceeds16MiB() {
        var limits = Limits()
        (limits.eventBytes, limits.channelsPerEvent, limits.batchEvents) = (1_048_576, 1_000, 1_000)
        for limit in [limits.eventBodyBytes, limits.batchBodyBytes, BodyLimit.listAndEventData.bytes(limits)] {
            #expect(limit <= 16_777_216)
        }
    }

    /// The largest event that the limits permit, in the longest form that JSON permits.
    @Test func theLargestValidEventFits() throws {
        let channel = "#server-to-user-" + String(repeating: #"\ud83d\ude00"#, count: 128)
        let channels = (0..<100).map { index in "\"\(channel.dropLast(36))\(index)\"" }.joined(separator: ",")
        let data = String(repeating: #"\u0000"#, count: 10_240)
        let name = String(repeating: #"\ud83d\ude00"#, count: 200)
        let call = Call(#"{"name":"\#(name)","data":"\#(data)","channels":[\#(channels)],"socket_id":"1.1"}"#).signed()
        guard case .publish(let request, _) = call.asRequest({ router.action(of: $0, now: Call.now) }) else {
            Issue.record("rejected")
            return
        }
        #expect(request.events[0].publications.count == 100)
    }

    @Test func theLargestDocumentedListsFit() {
        let names = (0..<1_000).map { "\"" + String(repeating: "x", count: 146) + String($0 + 1_000) + "\"" }
        let list = names.joined(separator: ",")
        #expect(FleetCall(.post, "/api/driver/notifications/read", #"{"ids":[\#(list)]}"#, as: .driver).status() == nil)
        let announcement = #"{"type":"DRIVER_APPROVED","to":{"drivers":[\#(list)]},"data":{}}"#
        #expect(FleetCall(.post, "/api/admin/notifications", announcement).status() == nil)
    }

    @Test func theLargestBodyThatIsReadDependsOnTheEndpoint() throws {
        #expect(try route(routing(Call().signed(), router)).readBodyBytesMax == 220_364)
        #expect(try route(routing(FleetCall(.post, "/api/admin/orders/A1/unassign"))).readBodyBytesMax == 65_536)
        #expect(try route(routing(Call.get("/apps/1001/channels").signed(), router)).readBodyBytesMax == 65_536)
    }

    // MARK: Requests that read no body

    @Test func bodiesOfQueriesAreIgnoredUnlessSigned() {
        for (digest, isAccepted) in [
            (nil, true), ("f95b70fdc3088560732a5ac135644506", true), ("d41d8cd98f00b204e9800998ecf8427e", false),
        ] {
            var call = Call.get("/apps/1001/channels").with("body_md5", digest).signed()
            call.body = Array("{".utf8)
            #expect((call.asRequest { router.action(of: $0, now: Call.now) }.response == nil) == isAccepted)
        }
    }

    @Test func errorsOfAQueryComeAfterTheBodysSize() throws {
        var call = FleetCall(.get, "/api/driver/notifications", as: .driver).withQuery("limit", "0")
        #expect(try route(routing(call)).bodyBytesMax == 0)
        #expect(call.status() == 400)
        call.body = [UInt8](repeating: 0, count: RoutedRequest.discardedBodyBytesMax + 1)
        #expect(call.status() == 413)
    }
}

extension APIAction {
    /// The response, if the action is one.
    fileprivate var response: HTTPResponse? { if case .respond(let response) = self { response } else { nil } }
}
