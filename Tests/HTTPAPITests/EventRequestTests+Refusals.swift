import Access
import FanOut
import Fleet
import PusherAPI
import PusherProtocol
import Testing

/// Invalid events, and the limits of valid ones (protocol points B3–B9).
extension EventRequestTests {
    // MARK: Invalid bodies (B3, B4)

    static let notJSON: [(body: String, problem: String)] = [
        ("", "expected an object at byte 0"), (" ", "expected an object at byte 1"), ("null", "expected an object at byte 0"),
        ("true", "expected an object at byte 0"), ("0", "expected an object at byte 0"),
        ("7", "expected an object at byte 0"), (#""""#, "expected an object at byte 0"), ("[]", "expected an object at byte 0"),
        ("[{}]", "expected an object at byte 0"), ("\u{FEFF}", "expected an object at byte 3"),
        ("\u{FEFF}\u{FEFF}{}", "expected an object at byte 3"), (" \u{FEFF}{}", "expected an object at byte 1"),
        ("name=e&channel=c&data=d", "expected an object at byte 0"), ("{", "expected a member's name at byte 1"),
        ("{}x", "unexpected text after the value at byte 2"), (#"{"name":"e",}"#, "expected a member's name at byte 12"),
        (#"{"name":'e'}"#, "expected a value at byte 8"), (#"{"name" "e"}"#, "expected ':' at byte 8"),
        (#"{"data":"\x"}"#, "unknown escape at byte 10"), ("{\"data\":\"\n\"}", "control character in a string at byte 9"),
        (#"{"channels":["c"}"#, "expected ',' or ']' at byte 16"),
    ]

    @Test(arguments: notJSON) func errorsAboutInvalidJSONContainTheOffset(body: String, problem: String) {
        #expect(refusal(body) == APIError(400, "The body is not a JSON object: \(problem)"))
    }

    // MARK: Reserved names

    static let reservedNames = [
        "pusher:error", "pusher:", "pusher_internal:member_added", #"\u0070usher:x"#, #"p\u0075sher\u003ax"#,
    ]

    @Test(arguments: reservedNames) func rejectsTheProtocolsOwnEventNames(name: String) {
        let expected = APIError(400, "Event names that begin with pusher: or pusher_internal: are reserved: use another name")
        #expect(refusal(self.body(name: "\"\(name)\"")) == expected)
    }

    @Test(arguments: ["pusher", "Pusher:x", "pusher-x", "pusher_internal", "push", "xpusher:x", #"\u0071usher:x"#, #"\"pusher:"#])
    func acceptsOtherEventNames(name: String) { #expect(refusal(self.body(name: "\"\(name)\"")) == nil) }

    static let operatorsChannels = [
        "", "private-", "presence-", "private-encrypted-", "cache-", "private-cache-",
        "private-encrypted-cache-", "presence-cache-",
    ].map { $0 + "fleetwire-ops" }

    @Test(arguments: operatorsChannels) func onlyTheGatewayPublishesItsFigures(channel: String) {
        let body = Array(#"{"name":"stats","channels":["c","\#(channel)"],"data":"d"}"#.utf8)
        func refusal(_ rules: AppRules) -> APIError? {
            body.withUnsafeBytes { bytes in
                do throws(APIError) {
                    _ = try EventRequest(bytes, rules: rules)
                    return nil
                } catch {
                    return error
                }
            }
        }
        var fleet = AppRules()
        fleet.channels = ChannelPolicy([.init("*", .open)])
        #expect(refusal(fleet) == APIError(403, "Only the gateway publishes to \(channel): it carries its own figures"))
        #expect(refusal(AppRules()) == nil, "another application has no such channel")
    }

    @Test func rejectsInvalidUTF8() {
        let body = Array(#"{"name":"e","channel":"c","data":""#.utf8) + [0xFF] + Array(#""}"#.utf8)
        #expect(throws: APIError(400, "The body is not a JSON object: invalid UTF-8 at byte 34")) { try decode(body) }
    }

    @Test(arguments: ["[", #"{"a":"#]) func rejectsExcessiveNesting(piece: String) {
        #expect(refusal(#"{"x":"# + String(repeating: piece, count: 9_000))?.status == 400)
    }

    @Test func rejectsEveryTruncatedBody() {
        let whole = #"{"name":"e","channels":["a","é"],"data":"\u00e9","socket_id":"1.2"}"#
        for end in 0..<whole.unicodeScalars.count {
            let cut = String(String.UnicodeScalarView(whole.unicodeScalars.prefix(end)))
            #expect(refusal(cut)?.text.hasPrefix("The body is not a JSON object: ") == true, "\(cut)")
        }
    }

    static let notStrings = ["null", "true", "1", "1.5", "{}", #"{"a":"b"}"#, "[]", #"["e"]"#]

    @Test(arguments: notStrings) func rejectsFieldsThatAreNotStrings(value: String) {
        #expect(refusal(body(name: value)) == APIError(400, "Expected name parameter to be a string"))
        #expect(refusal(body(data: value)) == APIError(400, "Expected data parameter to be a string"))
        #expect(refusal(body(channel: value)) == APIError(400, "Expected channels parameter to contain only strings"))
        let list = #"{"name":"e","channels":["c",\#(value)],"data":"d"}"#
        #expect(refusal(list) == APIError(400, "Expected channels parameter to contain only strings"))
    }

    @Test(arguments: ["null", "1", #""c""#, "{}", "true"]) func rejectsChannelsThatAreNotAnArray(value: String) {
        let expected = APIError(400, "Expected channels parameter to be an array")
        #expect(refusal(#"{"name":"e","channels":\#(value),"data":"d"}"#) == expected)
    }

    static let missing: [(body: String, text: String)] = [
        (#"{"channel":"c","data":"d"}"#, "Expected name parameter to be a string"),
        (#"{"name":"e","channel":"c"}"#, "Expected data parameter to be a string"),
        (#"{"name":"e","data":"d"}"#, "Expected channels parameter to name at least one channel"),
        (#"{"name":"e","channels":[],"data":"d"}"#, "Expected channels parameter to name at least one channel"),
        (#"{"name":"e","channels":[],"channel":"c","data":"d"}"#, "Expected channels parameter to name at least one channel"),
        (#"{"name":"","channel":"c","data":"d"}"#, "Expected name parameter not to be empty"),
        ("{}", "Expected name parameter to be a string"),
        (#"{"Name":"e","channel":"c","data":"d"}"#, "Expected name parameter to be a string"),
    ]

    @Test(arguments: missing) func rejectsMissingAndEmptyFields(body: String, text: String) {
        #expect(refusal(body) == APIError(400, text))
    }

    // MARK: Channels (B5, B6)

    @Test(arguments: ["", " ", "a b", "a/b", "a:b", "#a", "a#b", "é", "🚚", "a*", "[a]"])
    func rejectsInvalidChannelNames(name: String) {
        let text = "Invalid channel name \(name): expected 1 to 200 characters of A-Z a-z 0-9 _ - = @ , . ;"
        for channels in [#"["\#(name)"]"#, #"["\#(name)","c"]"#, #"["c","\#(name)"]"#] {
            #expect(refusal(#"{"name":"e","channels":\#(channels),"data":"d"}"#) == APIError(400, text))
        }
        #expect(refusal(body(channel: #""\#(name)""#)) == APIError(400, text))
    }

    @Test func limitsChannelNamesTo200Bytes() throws {
        #expect(try decode(body(channel: #""\#(String(repeating: "c", count: 200))""#)).channels.count == 1)
        let text =
            "Invalid channel name \(String(repeating: "c", count: 100))…: expected 1 to 200 characters of A-Z a-z 0-9 _ - = @ , . ;"
        #expect(refusal(body(channel: #""\#(String(repeating: "c", count: 201))""#)) == APIError(400, text))
    }

    private func channels(_ count: Int) -> String {
        let names = (0..<count).map { #""c\#($0)""# }.joined(separator: ",")
        return #"{"name":"e","channels":[\#(names)],"data":"d"}"#
    }

    @Test func limitsTheNumberOfChannelsTo100() throws {
        let event = try decode(channels(100))
        #expect(event.channels == (0..<100).map { "c\($0)" } && event.frames.last == frame(channel: "c99"))
        #expect(refusal(channels(101)) == APIError(400, "Expected at most 100 channels, found 101"))
    }

    // MARK: Name and data (B7, B9)

    private func repeated(_ text: String, _ count: Int) -> String { #""\#(String(repeating: text, count: count))""# }

    /// The limit counts characters after decoding escapes. Their length in UTF-8 does not matter.
    @Test(arguments: ["n", "é", "日", #"\u00e9"#, #"\n"#]) func limitsEventNamesTo200Characters(character: String) {
        #expect(refusal(body(name: repeated(character, 200))) == nil)
        let expected = APIError(400, "The name of this event exceeds the allowed maximum (200 characters)")
        #expect(refusal(body(name: repeated(character, 201))) == expected)
    }

    /// A piece of a JSON string, and the number of UTF-8 bytes after decoding.
    static let pieces: [(piece: String, bytes: Int)] = [
        ("x", 1), ("é", 2), ("日", 3), ("😀", 4), (#"\n"#, 1), (#"\""#, 1), (#"\/"#, 1), (#"\u0000"#, 1), (#"\u0078"#, 1),
        (#"\u00e9"#, 2),
        (#"\u65e5"#, 3), (#"\ud83d\ude00"#, 4),
        // A lone surrogate is decoded as U+FFFD.
        (#"\ud800 "#, 4),
    ]

    @Test(arguments: pieces) func limitsDataByItsDecodedBytes(piece: String, bytes: Int) throws {
        let count = 10_240 / bytes
        let filler = String(repeating: "x", count: 10_240 - count * bytes)
        let fits = String(repeating: piece, count: count) + filler
        #expect(try decode(body(data: #""\#(fits)""#)).frames == [frame(data: #""\#(fits)""#)])
        let expected = APIError(
            413, "The data content of this event exceeds the allowed maximum (10240 bytes). Send a reference instead")
        #expect(refusal(body(data: #""\#(fits)x""#)) == expected)
        #expect(refusal(body(data: #""x\#(fits)""#)) == expected)
    }

    @Test func usesTheApplicationsLimits() {
        var limits = Limits()
        limits.eventBytes = 4
        limits.nameLength = 3
        limits.channelsPerEvent = 2
        #expect(refusal(body(name: #""eee""#, channel: #""ccc""#, data: #""dddd""#), limits: limits) == nil)
        #expect(refusal(body(data: #""ddddd""#), limits: limits)?.status == 413)
        #expect(refusal(body(name: #""eeee""#), limits: limits)?.status == 400)
        #expect(refusal(body(channel: #""cccc""#), limits: limits)?.status == 400)
        #expect(refusal(channels(2), limits: limits) == nil)
        #expect(refusal(channels(3), limits: limits) == APIError(400, "Expected at most 2 channels, found 3"))
    }
}
