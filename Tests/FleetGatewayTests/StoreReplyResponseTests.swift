import HTTP
import PusherAPI
import Testing

@testable import Fleet
@testable import FleetGateway

@Suite struct StoreReplyResponseTests {
    @Test(arguments: [Envelope.success, .message, .error]) func passesJSONOnUnchanged(envelope: Envelope) {
        let json = Array(#"{"success":true}"#.utf8)
        #expect(CommandReply.committed(CommandResult(body: json)).response(in: envelope) == .json(200, json))
        #expect(QueryReply.found(json).response(in: envelope) == .json(200, json))
    }

    @Test func marksAReplayedResponse() {
        let response = CommandReply.replayed(status: 200, body: []).response(in: Envelope.success)
        #expect(response == HTTPResponse.json(200, []).adding(["Idempotency-Replayed": "true"]))
    }

    private static let envelopes: [(Envelope, String)] = [
        (.success, #"{"success":false,"error":"a \"b\"\n"}"#), (.error, #"{"error":"a \"b\"\n"}"#),
    ]

    @Test(arguments: envelopes) func writesErrorsInTheEndpointsEnvelope(envelope: Envelope, body: String) {
        let text = "a \"b\"\n"
        let statuses: [(RuleError.Kind, Int)] = [(.invalid, 400), (.forbidden, 403), (.unknown, 404), (.conflict, 409)]
        for (kind, status) in statuses {
            let error = RuleError(.init("test", kind, text))
            #expect(CommandReply.rejected(error).response(in: envelope) == .json(status, body.utf8))
            #expect(QueryReply.rejected(error).response(in: envelope) == .json(status, body.utf8))
        }
        #expect(CommandReply.failed(text).response(in: envelope) == .json(500, body.utf8))
    }

    /// Existing apps show the short `message`, and never get null there.
    @Test func summarizesErrorsForTheMobileApps() {
        func rejected(_ kind: RuleError.Kind) -> CommandReply { .rejected(RuleError(.init("test", kind, "text"))) }
        let replies: [(CommandReply, String)] = [
            (rejected(.invalid), "text"), (rejected(.forbidden), "Forbidden"), (rejected(.unknown), "Resource not found"),
            (rejected(.conflict), "Conflict"), (.unavailable("text"), "Service unavailable"),
            (.failed("text"), "Internal server error"),
        ]
        for (reply, message) in replies {
            let body = #"{"message":"\#(message)","data":null,"error":"text"}"#
            #expect(reply.response(in: Envelope.message).body == Array(body.utf8))
        }
        for (status, message) in [
            (401, "Invalid token"), (405, "Method not allowed"), (413, "Request too large"), (429, "Too many requests"),
        ] {
            let body = #"{"message":"\#(message)","data":null,"error":"text"}"#
            #expect(Envelope.message.error(status, "text").body == Array(body.utf8))
        }
    }

    @Test func asksTheClientToRetryIfTheStoreIsUnavailable() {
        for response in [
            CommandReply.unavailable("busy").response(in: Envelope.success),
            QueryReply.unavailable("busy").response(in: Envelope.success),
        ] {
            #expect(response.status == 503 && response.headers == ["Retry-After": "1"])
        }
    }
}
