import HTTP
import HTTPAPI
import Testing

@testable import Gateway

@Suite struct StoreAnswerTests {
    @Test(arguments: [Envelope.success, .message, .error]) func passesASuccessOnAsItIs(envelope: Envelope) {
        let json = Array(#"{"success":true}"#.utf8)
        #expect(StoreAnswer(json: json).response(in: envelope) == .json(200, json))
    }

    @Test func saysThatAnAnswerIsARepeatedOne() {
        let response = StoreAnswer(json: [], isReplay: true).response(in: .success)
        #expect(response == HTTPResponse.json(200, []).adding(["Idempotency-Replayed": "true"]))
    }

    private static let envelopes: [(Envelope, String)] = [
        (.success, #"{"success":false,"error":"a \"b\"\n"}"#), (.message, #"{"message":null,"data":null,"error":"a \"b\"\n"}"#),
        (.error, #"{"error":"a \"b\"\n"}"#),
    ]

    @Test(arguments: envelopes) func wordsARefusalAsItsGroupDoes(envelope: Envelope, body: String) {
        for status in [400, 403, 404, 409, 500] {
            #expect(StoreAnswer(status, "a \"b\"\n").response(in: envelope) == .json(status, body.utf8))
        }
    }

    @Test func asksToBeTriedAgainWhenItCannotNow() {
        let response = StoreAnswer(503, "busy").response(in: .success)
        #expect(response.status == 503 && response.headers == ["Retry-After": "1"])
    }
}
