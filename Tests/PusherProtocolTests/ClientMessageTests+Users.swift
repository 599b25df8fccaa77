import PusherProtocol
import TestSupport
import Testing

/// Sign-in and client events as clients send them.
extension ClientMessageTests {
    @Test func u1DecodesASignin() throws {
        let text = #"{"event":"pusher:signin","data":{"auth":"k:s","user_data":"{\"id\":\"1\"}"}}"#
        #expect(try decode(text) == .signin(SigninRequest(auth: "k:s", userData: #"{"id":"1"}"#)))
    }

    static let signins: [(data: String, message: String)] = [
        (#","data":"{}""#, "pusher:signin: expected data to be an object"),
        ("", "pusher:signin: expected data to be an object"),
        (#","data":{}"#, "pusher:signin: expected data.auth to be a string"),
        (#","data":{"auth":null,"user_data":"{}"}"#, "pusher:signin: expected data.auth to be a string"),
        (#","data":{"auth":"k:s"}"#, "pusher:signin: expected data.user_data to be a string"),
        (#","data":{"auth":"k:s","user_data":{"id":"1"}}"#, "pusher:signin: expected data.user_data to be a string"),
    ]

    @Test(arguments: signins) func u2RejectsAnIncompleteSignin(data: String, message: String) {
        #expect(throws: ProtocolError(message, code: 4009)) { try decode(#"{"event":"pusher:signin"\#(data)}"#) }
    }

    // MARK: Client events

    /// Data as sent, and as the other subscribers get it (E4): a string is unchanged, any other value becomes a string
    /// that contains its JSON.
    static let data: [(sent: String, delivered: String)] = [
        (#""""#, #""""#), (#""plain é 😀""#, #""plain é 😀""#), (#""{\"x\":1}""#, #""{\"x\":1}""#),
        (#""\u00e9\/\ud83d""#, #""\u00e9\/\ud83d""#),
        (#"{"x":1}"#, #""{\"x\":1}""#), ("{}", #""{}""#), ("[1, 2]", #""[1, 2]""#), ("[]", #""[]""#),
        ("[1, 2 ,3]", #""[1, 2 ,3]""#),
        ("{ \"a\" : 1.0, \"b\":[ ],\t\"c\": \"\\u00fc\\/🚚\" }", #""{ \"a\" : 1.0, \"b\":[ ],\t\"c\": \"\\u00fc\\/🚚\" }""#),
        (#"{ "a" : "\"\\\n" ,"é":[null]}"#, #""{ \"a\" : \"\\\"\\\\\\n\" ,\"é\":[null]}""#),
        ("7", #""7""#), ("-1.50e+3", #""-1.50e+3""#), ("true", #""true""#), ("false", #""false""#), ("null", #""null""#),
        ("{\n\t}", #""{\n\t}""#), ("\"\u{7F}\"", "\"\u{7F}\""),
    ]

    @Test(arguments: data) func e4EncodesDataAsAString(sent: String, delivered: String) throws {
        let message = try decode(#"{"event":"client-e","channel":"private-a","data":\#(sent)}"#)
        guard case .clientEvent(let event) = message else {
            Issue.record("\(message)")
            return
        }
        #expect(event.data == Array(delivered.utf8))
        #expect(event == ClientEvent(name: "client-e", channel: "private-a", data: Array(delivered.utf8)))
        // If the value is not a string, the delivered string, decoded, is the value as sent.
        let value = try JSONValue.elements(of: "[\(delivered)]")[0]
        if !sent.hasPrefix("\"") { #expect(value.text == sent) }
    }

    @Test func e1AcceptsAnEventWithoutData() throws {
        let event = ClientEvent(name: "client-", channel: "", data: Array("null".utf8))
        #expect(try decode(#"{"event":"client-","channel":""}"#) == .clientEvent(event))
    }

    @Test func e3IgnoresOtherMembers() throws {
        let text = #"{"user_id":"2","event":"client-e","socket_id":"1.1","channel":"private-a","data":"1","x":{}}"#
        let event = ClientEvent(name: "client-e", channel: "private-a", data: Array(#""1""#.utf8))
        #expect(try decode(text) == .clientEvent(event))
    }

    @Test(arguments: [
        "", #","channel":null"#, #","channel":7"#, #","channel":["private-a"]"#, #","channel":{}"#,
        #","data":{"channel":"private-a"}"#,
    ])
    func e1RejectsAnEventWithoutChannel(rest: String) {
        #expect(throws: ProtocolError("client-e: expected channel to be a string")) {
            try decode(#"{"event":"client-e"\#(rest)}"#)
        }
    }
}
