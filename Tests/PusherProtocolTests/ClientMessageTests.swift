import JSON
import PusherProtocol
import Testing

@Suite struct ClientMessageTests {
    func decode(_ text: String) throws(ProtocolError) -> ClientMessage { try decode(Array(text.utf8)) }

    private func decode(_ text: [UInt8]) throws(ProtocolError) -> ClientMessage {
        // `withUnsafeBytes` rethrows untyped errors.
        let result = text.withUnsafeBytes { bytes in
            Result { () throws(ProtocolError) in try ClientMessage(bytes) }
        }
        return try result.get()
    }

    // MARK: Valid messages

    /// The client libraries send different data in a ping (protocol point P1).
    @Test(arguments: [#","data":{}"#, #","data":"{}""#, #","data":"""#, #","data":null"#, "", #","data":7"#, #","data":[]"#])
    func decodesAPingWithAnyData(data: String) throws {
        #expect(try decode(#"{"event":"pusher:ping"\#(data)}"#) == .ping)
        #expect(try decode(#"{"event":"pusher:pong"\#(data)}"#) == .pong)
    }

    static let subscriptions: [(text: String, request: SubscriptionRequest)] = [
        (#"{"event":"pusher:subscribe","data":{"channel":"news"}}"#, SubscriptionRequest(channel: "news")),
        (
            #"{"event":"pusher:subscribe","data":{"auth":"k:s","channel_data":"{\"user_id\":1}","channel":"private-a"}}"#,
            SubscriptionRequest(channel: "private-a", auth: "k:s", channelData: #"{"user_id":1}"#)
        ),
        (
            #"{"event":"pusher:subscribe","data":{"channel":"a","auth":null,"channel_data":null}}"#,
            SubscriptionRequest(channel: "a")
        ),
        (#"{"event":"pusher:subscribe","data":{"channel":"a","auth":""}}"#, SubscriptionRequest(channel: "a", auth: "")),
        // Invalid channel names are decoded. `SubscriptionRequest.grant` rejects them.
        (#"{"event":"pusher:subscribe","data":{"channel":""}}"#, SubscriptionRequest(channel: "")),
        (##"{"event":"pusher:subscribe","data":{"channel":"#\u00e9\n"}}"##, SubscriptionRequest(channel: "#é\n")),
        // Members may have any order, white space around them, and escapes in their names. Unknown members are ignored.
        (
            "\r\n{ \"data\" : { \"x\" : [ {} ] , \"ch\\u0061nnel\" : \"a\" } ,\t\"id\" : 1, \"ev\\u0065nt\" : \"pusher\\u003asubscribe\" } ",
            SubscriptionRequest(channel: "a")
        ),
        // The last of repeated members counts.
        (
            #"{"event":"x","event":"pusher:subscribe","data":7,"data":{"channel":"b","channel":"a"}}"#,
            SubscriptionRequest(channel: "a")
        ),
    ]

    @Test(arguments: subscriptions) func decodesASubscription(text: String, request: SubscriptionRequest) throws {
        #expect(try decode(text) == .subscribe(request))
    }

    @Test func decodesAnUnsubscription() throws {
        #expect(try decode(#"{"event":"pusher:unsubscribe","data":{"channel":"news"}}"#) == .unsubscribe(channel: "news"))
        #expect(try decode(#"{"event":"pusher:unsubscribe","data":{"channel":"a","auth":5}}"#) == .unsubscribe(channel: "a"))
    }

    // MARK: Invalid messages

    struct Misuse: Sendable {
        let text: String
        let message: String

        init(_ text: String, _ message: String) {
            self.text = text
            self.message = message
        }
    }

    private static let known = "expected pusher:subscribe, pusher:unsubscribe, pusher:signin, pusher:ping or client-…"

    static let misuses = [
        // Not a JSON object.
        Misuse("", "Invalid JSON at byte 0: expected an object"), Misuse("[]", "Invalid JSON at byte 0: expected an object"),
        Misuse("null", "Invalid JSON at byte 0: expected an object"),
        Misuse("true", "Invalid JSON at byte 0: expected an object"), Misuse("0", "Invalid JSON at byte 0: expected an object"),
        Misuse(#""pusher:ping""#, "Invalid JSON at byte 0: expected an object"),
        Misuse(#"[{"event":"pusher:ping"}]"#, "Invalid JSON at byte 0: expected an object"),
        Misuse("pusher:ping", "Invalid JSON at byte 0: expected an object"),
        Misuse("{", "Invalid JSON at byte 1: expected a member's name"),
        Misuse(#"{"event":"pusher:ping""#, "Invalid JSON at byte 22: expected ',' or '}'"),
        Misuse(#"{"event":"pusher:ping"}x"#, "Invalid JSON at byte 23: unexpected text after the value"),
        Misuse(#"{"event":"pusher:ping",}"#, "Invalid JSON at byte 23: expected a member's name"),
        Misuse(#"{event:"pusher:ping"}"#, "Invalid JSON at byte 1: expected a member's name"),
        Misuse(#"{"event":"pusher:ping","data":{"a":[}}"#, "Invalid JSON at byte 36: expected a value"),
        // No event, or one that is not a string.
        Misuse("{}", "Expected an event"), Misuse(#"{"data":{}}"#, "Expected an event"),
        Misuse(#"{"data":{"channel":"x"}}"#, "Expected an event"),
        Misuse(#"{"Event":"x"}"#, "Expected an event"),
        Misuse(#"{"data":{"event":"pusher:ping"}}"#, "Expected an event"),
        Misuse(#"{"event":null}"#, "Expected event to be a string"), Misuse(#"{"event":1}"#, "Expected event to be a string"),
        Misuse(#"{"event":{}}"#, "Expected event to be a string"),
        Misuse(#"{"event":["pusher:ping"]}"#, "Expected event to be a string"),
        // Not an event that a client may send.
        Misuse(#"{"event":""}"#, "Unknown event : \(known)"), Misuse(#"{"event":"news"}"#, "Unknown event news: \(known)"),
        Misuse(#"{"event":"pusher:x"}"#, "Unknown event pusher:x: \(known)"),
        Misuse(#"{"event":"pusher:"}"#, "Unknown event pusher:: \(known)"),
        Misuse(#"{"event":"Pusher:ping"}"#, "Unknown event Pusher:ping: \(known)"),
        Misuse(#"{"event":"pusher:ping "}"#, "Unknown event pusher:ping : \(known)"),
        Misuse(#"{"event":"pusher:ping\u0000"}"#, "Unknown event pusher:ping\0: \(known)"),
        Misuse(#"{"event":"pusher:client-x"}"#, "Unknown event pusher:client-x: \(known)"),
        Misuse(#"{"event":"Client-x"}"#, "Unknown event Client-x: \(known)"),
        Misuse(
            #"{"event":"pusher_internal:subscription_succeeded","channel":"a","data":"{}"}"#,
            "Unknown event pusher_internal:subscription_succeeded: \(known)"),
        Misuse(#"{"event":"client-"}"#, "client-: expected channel to be a string"),
        // Data that is not an object, or has members that are missing or not strings.
        Misuse(#"{"event":"pusher:subscribe"}"#, "pusher:subscribe: expected data to be an object"),
        Misuse(#"{"event":"pusher:subscribe","data":null}"#, "pusher:subscribe: expected data to be an object"),
        Misuse(#"{"event":"pusher:subscribe","data":[]}"#, "pusher:subscribe: expected data to be an object"),
        Misuse(
            #"{"event":"pusher:subscribe","data":"{\"channel\":\"a\"}"}"#, "pusher:subscribe: expected data to be an object"),
        Misuse(
            #"{"event":"pusher:subscribe","data":{"channel":"a"},"data":null}"#, "pusher:subscribe: expected data to be an object"
        ),
        Misuse(#"{"event":"pusher:subscribe","channel":"a"}"#, "pusher:subscribe: expected data to be an object"),
        Misuse(#"{"event":"pusher:subscribe","data":{}}"#, "pusher:subscribe: expected data.channel to be a string"),
        Misuse(
            #"{"event":"pusher:subscribe","data":{"channel":null}}"#, "pusher:subscribe: expected data.channel to be a string"),
        Misuse(#"{"event":"pusher:subscribe","data":{"channel":1}}"#, "pusher:subscribe: expected data.channel to be a string"),
        Misuse(
            #"{"event":"pusher:subscribe","data":{"channel":["a"]}}"#, "pusher:subscribe: expected data.channel to be a string"),
        Misuse(#"{"event":"pusher:subscribe","data":{"Channel":"a"}}"#, "pusher:subscribe: expected data.channel to be a string"),
        Misuse(#"{"event":"pusher:unsubscribe"}"#, "pusher:unsubscribe: expected data to be an object"),
        Misuse(#"{"event":"pusher:unsubscribe","data":{}}"#, "pusher:unsubscribe: expected data.channel to be a string"),
        Misuse(
            #"{"event":"pusher:unsubscribe","data":{"channel":true}}"#, "pusher:unsubscribe: expected data.channel to be a string"
        ),
    ]

    @Test(arguments: misuses) func errorsNameTheMistakeAndTheRemedy(misuse: Misuse) {
        #expect(throws: ProtocolError(misuse.message)) { try decode(misuse.text) }
    }

    /// What only the server sends, and what resembles an event that a client may send.
    @Test(arguments: [
        "pusher:connection_established", "pusher:error", "pusher:cache_miss", "pusher:said", "pusher:Subscribe",
        "pusher:client-said", "pusher_internal:subscription_succeeded", "pusher_internal:member_added", "pusher_internal:x",
        "pusher_internal:client-said", "message", "said", "client", "clientsaid", "client_said", "Client-said", "xclient-y",
        "x-client-said", " client-said",
    ])
    func m2RejectsReservedAndUnknownEvents(name: String) {
        #expect(throws: ProtocolError("Unknown event \(name): \(Self.known)")) {
            try decode(#"{"event":"\#(name)","channel":"private-a","data":{"channel":"private-a"}}"#)
        }
    }

    /// The data of a command, and what is expected of it.
    static let malformed: [(data: String, expected: String)] = [
        ("", "data to be an object"), (#","data":null"#, "data to be an object"), (#","data":"""#, "data to be an object"),
        (#","data":"x""#, "data to be an object"), (#","data":1"#, "data to be an object"),
        (#","data":true"#, "data to be an object"), (#","data":[]"#, "data to be an object"),
        (#","data":[{"channel":"x"}]"#, "data to be an object"), (#","data":{}"#, "data.channel to be a string"),
        (#","data":{"channel":null}"#, "data.channel to be a string"),
        (#","data":{"channel":1}"#, "data.channel to be a string"), (#","data":{"channel":{}}"#, "data.channel to be a string"),
        (#","data":{"channel":["x"]}"#, "data.channel to be a string"),
        (#","data":{"channels":["x"]}"#, "data.channel to be a string"),
        (#","data":{"Channel":"x"}"#, "data.channel to be a string"),
    ]

    @Test(arguments: malformed) func m2RejectsMalformedCommands(data: String, expected: String) {
        for event in ["pusher:subscribe", "pusher:unsubscribe"] {
            #expect(throws: ProtocolError("\(event): expected \(expected)")) { try decode(#"{"event":"\#(event)"\#(data)}"#) }
        }
    }

    @Test func rejectsInvalidUTF8() {
        #expect(throws: ProtocolError("Invalid JSON at byte 10: invalid UTF-8")) {
            try decode(Array(#"{"event":""#.utf8) + [0xFF] + Array(#""}"#.utf8))
        }
    }

    @Test func rejectsExcessiveNesting() {
        let text = #"{"event":"pusher:ping","data":"# + String(repeating: "[", count: 30_000)
        #expect(throws: ProtocolError("Invalid JSON at byte 93: nested deeper than 64 levels")) { try decode(text) }
    }

    /// An error quotes only the beginning of a long name: the name of an unknown event may be as long as a message, and
    /// so may a single character of it with combining marks.
    @Test(arguments: ["x", "é", "😀", "\u{301}", "e\u{301}", "\u{0}"])
    func truncatesLongTextInErrors(piece: String) throws {
        var name = ""
        while name.utf8.count < 60_000 { name += piece }
        var json = JSONWriter()
        json.raw(#"{"event":"#)
        json.string(name)
        json.raw("}")
        let error = try #require(throws: ProtocolError.self) { try decode(json.bytes) }
        #expect(error.message.utf8.count < 600)
        #expect(error.message.hasPrefix("Unknown event") && error.message.hasSuffix(Self.known))
        #expect(error.message.contains("…"))
    }

    @Test func quotesShortTextInFull() {
        let short = String(repeating: "x", count: 200)
        #expect(short.clipped == short)
        #expect((short + "x").clipped == String(repeating: "x", count: 100) + "…")
    }
}
