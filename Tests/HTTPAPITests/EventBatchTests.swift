import FanOut
import Fleet
import PusherAPI
import PusherProtocol
import Testing

/// Bodies of `POST batch_events` (protocol points D1–D5).
@Suite struct EventBatchTests {
    private struct Sent: Equatable {
        let channel: String
        let frame: Frame
        let except: SocketID?
    }

    private func decode(_ body: [UInt8], limits: Limits = Limits()) throws(APIError) -> [Sent] {
        let result = body.withUnsafeBytes { bytes in
            Result { () throws(APIError) in try EventBatchRequest(bytes, rules: AppRules(limits)) }
        }
        return try result.get().events.flatMap { event in
            event.publications.map { Sent(channel: $0.channel.text, frame: $0.frame, except: event.except) }
        }
    }

    private func refusal(_ body: String, limits: Limits = Limits()) -> APIError? {
        do throws(APIError) {
            _ = try decode(Array(body.utf8), limits: limits)
            return nil
        } catch {
            return error
        }
    }

    private func event(_ channel: String, _ data: String = "d", more: String = "") -> String {
        #"{"name":"e","channel":"\#(channel)","data":"\#(data)"\#(more)}"#
    }

    private func batch(_ events: [String]) -> String { #"{"batch":[\#(events.joined(separator: ","))]}"# }

    @Test("events keep their order, and each excludes its own connection")
    func inOrder() throws {
        let body = batch([event("a", "1"), event("b", "2", more: #","socket_id":"1.2""#), event("a", "3")])
        let sent = try decode(Array(body.utf8))
        #expect(sent.map(\.channel) == ["a", "b", "a"])
        #expect(sent.map(\.except) == [nil, SocketID("1.2"), nil])
        for (sent, data) in zip(sent, ["1", "2", "3"]) {
            let text = #"{"event":"e","channel":"\#(sent.channel)","data":"\#(data)"}"#
            #expect(sent.frame == Frame(text: Array(text.utf8)))
        }
    }

    @Test("the limit of events is inclusive", arguments: [1, 3, 10]) func limit(count: Int) throws {
        var limits = Limits()
        limits.batchEvents = count
        #expect(try decode(Array(batch((0..<count).map { event("c\($0)") }).utf8), limits: limits).count == count)
        for more in [count + 1, count + 2] {
            let expected = APIError(400, "Expected at most \(count) events in a batch, found \(more)")
            #expect(refusal(batch((0..<more).map { event("c\($0)") }), limits: limits) == expected)
        }
    }

    @Test(
        "a body without a list of events is refused",
        arguments: [
            "{}", #"{"batch":null}"#, #"{"batch":{}}"#, #"{"batch":"x"}"#, #"{"batch":1}"#, #"{"batch":[]}"#, #"{"batches":[]}"#,
        ])
    func notAList(body: String) {
        #expect(refusal(body) == APIError(400, "Expected batch parameter to be an array of events"))
    }

    @Test(
        "what is no JSON object is refused",
        arguments: [
            "", "null", "[]", #"{"batch":["#, #"{"batch":[]}x"#, #"{"batch":[{}]"#, #"{"batch":[,]}"#,
            #"{"batch":"# + String(repeating: "[", count: 5_000),
        ])
    func notJSON(body: String) {
        #expect(refusal(body)?.status == 400)
        #expect(refusal(body)?.text.hasPrefix("The body is not a JSON object: ") == true)
    }

    @Test("invalid UTF-8 is refused") func notUTF8() {
        #expect(throws: APIError.self) { try decode([0xFF]) }
        #expect(throws: APIError.self) { try decode(Array(#"{"batch":[""#.utf8) + [0xFF] + Array(#""]}"#.utf8)) }
    }

    private static let malformed: [(event: String, problem: String)] = [
        ("null", "Expected every event of a batch to be an object"), ("1", "Expected every event of a batch to be an object"),
        ("[]", "Expected every event of a batch to be an object"), (#""e""#, "Expected every event of a batch to be an object"),
        (#"{"name":"e","channels":["x","y"],"data":"d"}"#, "Expected every event of a batch to name one channel"),
        (#"{"name":1,"channel":"x","data":"d"}"#, "Expected name parameter to be a string"),
        (#"{"name":"e","channel":"x","data":1}"#, "Expected data parameter to be a string"),
    ]

    @Test("one malformed event refuses all, wherever it is", arguments: malformed, [0, 1, 2])
    func malformedEvent(_ row: (event: String, problem: String), place: Int) {
        var events = [event("a"), event("b")]
        events.insert(row.event, at: place)
        #expect(refusal(batch(events)) == APIError(400, row.problem))
    }

    @Test(
        "an event without a field, or with one that is no name, refuses all",
        arguments: [
            "{}", #"{"channel":"x","data":"{}"}"#, #"{"name":"e","channel":"x"}"#, #"{"name":"e","data":"{}"}"#,
            #"{"name":"","channel":"x","data":"{}"}"#, #"{"name":"e","channel":null,"data":"{}"}"#,
            #"{"name":"e","channel":"a b","data":"{}"}"#, #"{"name":"e","channel":"x","data":"{}","socket_id":"1"}"#,
            #"{"name":"\#(String(repeating: "n", count: 201))","channel":"x","data":"{}"}"#,
            #"{"name":"e","channel":"\#(String(repeating: "c", count: 201))","data":"{}"}"#,
        ])
    func withoutField(event: String) { #expect(refusal(batch([self.event("a"), event]))?.status == 400) }

    @Test("the data of each event is limited", arguments: [0, 1, 2]) func dataLimit(place: Int) throws {
        var limits = Limits()
        limits.eventBytes = 100
        var events = [event("a"), event("b")]
        events.insert(event("c", String(repeating: "x", count: 100)), at: place)
        #expect(try decode(Array(batch(events).utf8), limits: limits).count == 3)
        events[place] = event("c", String(repeating: "x", count: 101))
        #expect(refusal(batch(events), limits: limits)?.status == 413)
    }
}
