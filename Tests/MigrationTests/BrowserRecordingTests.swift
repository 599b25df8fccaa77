import Configuration
import Testing

@testable import Migration

/// Recordings of browsers.
@Suite struct BrowserRecordingTests {
    private static func recording(_ entries: String...) -> String { recording(entries) }

    private static func recording(_ entries: [String]) -> String {
        #"{"log":{"version":"1.2","creator":{"name":"WebInspector"},"pages":[],"entries":[\#(entries.joined(separator: ","))]}}"#
    }

    private static func socket(
        _ url: String = "wss://ws-eu.pusher.com/app/k1?protocol=7&client=js&version=8.4.0&flash=false",
        _ messages: [(String, String)]? = nil
    ) -> String {
        let list = messages.map { messages in
            #","_webSocketMessages":["#
                + messages.map { #"{"type":"\#($0)","time":1.5,"opcode":1,"data":\#(quoted($1))}"# }.joined(separator: ",") + "]"
        }
        return #"""
            {"_resourceType":"websocket","request":{"method":"GET","url":"\#(url)","headers":[{"name":"Origin","value":"https://app.example"},
            {"name":"Cookie","value":"s=\#(Checked.secret)"},{"name":"Sec-WebSocket-Key","value":"\#(Checked.secret)"}]},
            "response":{"status":101,"content":{}}\#(list ?? "")}
            """#
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "\""
    }

    private static let auth = #"""
        {"request":{"method":"POST","url":"https://api.example/broadcasting/auth?token=\#(Checked.secret)","headers":[
        {"name":"authorization","value":"Bearer \#(Checked.secret)"},{"name":"Cookie","value":"laravel_session=\#(Checked.secret)"},
        {"name":"X-CSRF-TOKEN","value":"\#(Checked.secret)"}],"postData":{"mimeType":"application/x-www-form-urlencoded",
        "text":"socket_id=1.2&channel_name=private-a&x=\#(Checked.secret)"}},"response":{"status":200,
        "content":{"text":"{\"auth\":\"k1:\#(Checked.secret)\"}"}}}
        """#

    @Test func findsTheConnectionItsMessagesAndItsAuthorization() throws {
        let messages = [
            ("receive", #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"1.2\"}"}"#),
            ("send", #"{"event":"pusher:subscribe","data":{"channel":"news"}}"#),
            ("send", #"{"event":"pusher:subscribe","data":{"auth":"k1:\#(Checked.secret)","channel":"private-a"}}"#),
            (
                "send",
                #"{"event":"pusher:subscribe","data":{"channel":"presence-p","channel_data":"{\"t\":\"\#(Checked.secret)\"}"}}"#
            ),
            ("send", #"{"event":"pusher:subscribe","data":{"channel":"private-encrypted-e"}}"#),
            ("send", #"{"event":"pusher:subscribe","data":{"channel":"cache-c"}}"#),
            ("send", #"{"event":"client-typing","channel":"private-a","data":{"k":"\#(Checked.secret)"}}"#),
            ("send", #"{"event":"client-typing","channel":"news","data":{}}"#),
            ("send", #"{"event":"pusher:signin","data":{"auth":"\#(Checked.secret)"}}"#),
            ("receive", #"{"event":"client-not-sent","channel":"news"}"#), ("send", "no JSON"), ("send", #"{"event":5}"#),
        ]
        let checked = try Checked(
            Self.recording(Self.socket("wss://w.example:6001/app/k1?protocol=7&client=js&version=8.4.0", messages), Self.auth))
        for part in [
            "a browser's recording of 2 requests", "wss://w.example:6001 with the key k1; protocol 7, client js 8.4.0",
            "private-encrypted- channels: private-encrypted-e", "private- channels: private-a", "presence- channels: presence-p",
            "cache- channels: cache-c", "public channels: news", "pusher:signin",
            "client events: client-typing on private-a, client-typing on news", "client events on news get pusher:error",
            "channels are authorized by POST https://api.example/broadcasting/auth with a form and Authorization: Bearer, Cookie, "
                + "x-csrf-token, answered 200",
            "origins: https://app.example", "set apps[].encryption_master_key",
        ] { #expect(checked.says(part), "\(part)\n\(checked.text)") }
        #expect(!checked.text.contains("client-not-sent"))
        let app = checked.settings.apps[0]
        #expect(app.key == "k1" && app.clientEvents && app.allowedOrigins == ["https://app.example"])
        #expect(app.secrets == ["PUSHER_APP_SECRET-value"] && checked.settings.server.port == 6_001)
    }

    // MARK: Apps that never sign

    private static func subscribe(_ channel: String, _ more: String = "") -> (String, String) {
        ("send", #"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"\#(more)}}"#)
    }

    private static let appURL = "wss://w.example/app/k1?protocol=7&client=js&version=8.4.0"

    /// The rules at the end of a report, instead of none.
    private static func suggested(_ text: String) -> String? {
        let parts = text.split(separator: "# channels:\n" as String)
        guard parts.count == 2 else { return nil }
        return parts[1].split(separator: "\n").map { $0.dropFirst(2) }.joined(separator: "\n")
    }

    @Test func suggestsRulesForAppsThatNeverSign() throws {
        let checked = try Checked(
            Self.recording(
                Self.socket(
                    Self.appURL,
                    [
                        Self.subscribe("driver-42", #","auth":"""#), Self.subscribe("drivers-channel"),
                        Self.subscribe("admin-channel"), Self.subscribe("news"), Self.subscribe("driver-43"),
                        Self.subscribe("private-customer-7", #","auth":"k1:\#(Checked.secret)""#),
                        Self.subscribe("booking-9", #","auth":"k1:\#(Checked.secret)""#), Self.subscribe("tracking-"),
                        ("receive", #"{"event":"pusher:subscribe","data":{"channel":"customer-7"}}"#),
                    ])))
        #expect(checked.says("driver-42, drivers-channel, admin-channel, driver-43: subscribed without signature or sign-in"))
        // What is printed stays as open as the other server is, until somebody takes the rules.
        #expect(checked.settings.channels.isEmpty && checked.text.contains("\nchannels: []"))
        let legacy = #"legacy: {until: "", keys: ["k1"], addresses: [], hide: []}"#
        #expect(
            Self.suggested(checked.text) == """
                  - pattern: "driver-*"
                    access: own-driver
                    durable: true
                    \(legacy)
                  - pattern: "drivers-channel"
                    access: any-driver
                    durable: true
                    \(legacy)
                  - pattern: "admin-channel"
                    access: admin
                """)
    }

    @Test func theSuggestedRulesAreAConfiguration() throws {
        let messages = ["driver-1", "drivers-channel", "admin-channel", "tracking-1", "booking-1", "customer-1"].map {
            Self.subscribe($0)
        }
        let checked = try Checked(Self.recording(Self.socket(Self.appURL, messages)))
        let rules = try #require(Self.suggested(checked.text))
        let lines = checked.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let taken = lines.filter { !$0.hasPrefix("#") }.map { $0.hasPrefix("channels:") ? "channels:\n" + rules : $0 }
        let settings = try Checked.settings(taken.joined(separator: "\n"))
        #expect(settings.legacyErrors(inProduction: false, at: 0, file: "").isEmpty)
        // They are the gateway's own, and these open them.
        var expected = Settings.ChannelRule.defaults
        for index in expected.indices where expected[index].access != .admin { expected[index].legacy.keys = ["k1"] }
        #expect(settings.channels == expected)
    }

    @Test(arguments: [
        [("send", #"{"event":"pusher:signin","data":{"auth":"x"}}"#), subscribe("driver-42")],
        [subscribe("driver-42", #","auth":"k1:x""#)], [subscribe("private-driver-42")], [subscribe("drivers-channel-2")],
        [subscribe("news")], [],
    ]) func suggestsNothingToAppsThatSign(messages: [(String, String)]) throws {
        let checked = try Checked(Self.recording(Self.socket(Self.appURL, messages)))
        #expect(!checked.text.contains("legacy") && Self.suggested(checked.text) == nil)
    }

    /// The fleet's names are of one app. Which one, a recording with several does not tell.
    @Test func suggestsRulesForTheFirstKeyOnly() throws {
        let other = Self.socket("wss://w.example/app/k2?protocol=7", [Self.subscribe("driver-42")])
        let checked = try Checked(Self.recording(Self.socket(Self.appURL, [Self.subscribe("news")]), other))
        #expect(!checked.text.contains("legacy"))
    }

    /// A key that is not accepted here is replaced; the rules have the key that the app has here.
    @Test func suggestsTheKeyOfTheConfiguration() throws {
        let url = "wss://w.example/app/k.1?protocol=7"
        let checked = try Checked(Self.recording(Self.socket(url, [Self.subscribe("driver-42")])))
        #expect(checked.settings.apps[0].key == "k-1" && checked.text.contains(#"keys: ["k-1"]"#))
    }

    @Test func tellsOldClientsPrefixesAndFallbacks() throws {
        let checked = try Checked(
            Self.recording(
                Self.socket("ws://h/ws/v1/app/k2?protocol=4"), Self.socket("ws://h/app/k3"),
                #"{"request":{"method":"POST","url":"https://sockjs-eu.pusher.com/pusher/app/k2/1/x/xhr_streaming"},"response":{"status":200}}"#,
                #"{"request":{"method":"GET","url":"https://stats.pusher.com/timeline/v2/jsonp/1"},"response":{"status":200}}"#,
                #"""
                {"request":{"method":"POST","url":"https://u:\#(Checked.secret)@a.example/user-auth","postData":{"mimeType":"application/json",
                "text":"{\"socket_id\":\"1.2\"}"}},"response":{"status":403}}
                """#,
                #"""
                {"request":{"method":"POST","url":"https://a.example/auth","postData":{"mimeType":"x","params":[
                {"name":"socket_id","value":"1"},{"name":"channel_name","value":"c"}]}},"response":{"status":200}}
                """#))
        for part in [
            "protocol 4 is not supported", "?protocol= is missing", "the path begins with /ws/v1",
            "the recording has no messages",
            "fallbacks over HTTP do not exist", "statistics are not collected",
            "users are authorized by POST https://a.example/user-auth with JSON and no credentials, answered 403",
            "channels are authorized by POST https://a.example/auth with a form and no credentials",
        ] { #expect(checked.says(part), "\(part)\n\(checked.text)") }
        #expect(checked.settings.apps.map(\.key) == ["k2", "k3"])
    }

    @Test(
        "a number that is no port is left out",
        arguments: [
            "wss://x:99999", "wss://x:-5", "wss://x:+5", "wss://x:0", "wss://x:", "ws://[::1]:99999", "ws://[::1]", "ws://u:1@x",
        ])
    func portThatIsNone(server: String) throws {
        #expect(try Checked(Self.recording(Self.socket(server + "/app/k1?protocol=7"))).settings.server.port == 6_001)
    }

    @Test(arguments: [
        ("wss://x", 443), ("ws://x", 80), ("ws://x:8080", 8_080), ("ws://[::1]:8080", 8_080), ("ws://u:1@x:81", 81),
        ("ws://x:65536", nil), ("ws://x:123456", nil),
    ])
    func port(url: String, port: Int?) { #expect(RecordedURL(url)?.port == port) }

    private static func socket(origin: String) -> String {
        #"""
        {"request":{"method":"GET","url":"wss://x/app/k1?protocol=7","headers":[{"name":"Origin","value":"\#(origin)"}]},
        "response":{"status":101}}
        """#
    }

    @Test("an origin is written whole or not at all")
    func longOrigins() throws {
        let label = String(repeating: "a", count: 60)
        let long = "https://\(label).\(label).\(label).example"
        let checked = try Checked(Self.recording(Self.socket(origin: long), Self.socket(origin: "\(long).\(label).\(label)")))
        #expect(checked.settings.apps[0].allowedOrigins == [long] && !checked.says("allowed_origins is left out"))
    }

    @Test("more origins than are kept leave the list out, and the report says what that means")
    func manyOrigins() throws {
        let kept = try Checked(Self.recording((0..<40).map { Self.socket(origin: "https://a\($0).example") }))
        #expect(kept.settings.apps[0].allowedOrigins.count == 40 && !kept.says("allowed_origins is left out"))
        let more = try Checked(Self.recording((0..<41).map { Self.socket(origin: "https://a\($0).example") }))
        #expect(more.settings.apps[0].allowedOrigins == ["*"])
        #expect(more.says("more than 40 origins: allowed_origins is left out, so pages of all origins may connect"))
    }

    @Test(arguments: [
        (["/ws"], "/ws", "the path begins with /ws: server.path_prefix"), (["/ws/v1", "/ws/v1"], "/ws/v1", "/ws/v1"),
        (["/a", "/b"], "", "server.path_prefix takes one"), ([""], "", "WebSockets"), (["", "/ws"], "/ws", "/ws"),
        (["/a%20b"], "", "server.path_prefix cannot be \"/a%20b\""), (["/app"], "", "server.path_prefix cannot be \"/app\""),
        (["/" + String(repeating: "a", count: 100)], "", "server.path_prefix cannot be"),
    ])
    func pathPrefix(paths: [String], prefix: String, text: String) throws {
        let checked = try Checked(Self.recording(paths.map { Self.socket("wss://x\($0)/app/k1?protocol=7") }))
        #expect(checked.settings.server.pathPrefix == prefix && checked.says(text), "\(checked.text)")
    }

    @Test(
        "a report names the scheme of a credential, and nothing of a credential without one",
        arguments: [
            ("Bearer hunter2", "Authorization: Bearer,"), ("AWS4-HMAC-SHA256 hunter2", "Authorization: AWS4-HMAC-SHA256,"),
            ("sk_hunter2_0123456789", "Authorization,"), ("hunter2", "Authorization,"), ("hunter2 ", "Authorization,"),
            ("hunter2:hunter2 x", "Authorization,"), ("hunter2hunter2hunter2 x", "Authorization,"), ("", "Authorization,"),
        ])
    func credentials(value: String, text: String) throws {
        let entry = #"""
            {"request":{"method":"POST","url":"https://a.example/auth","headers":[{"name":"Authorization","value":"\#(value)"}],
            "postData":{"mimeType":"application/json","text":"{\"socket_id\":\"1.2\"}"}},"response":{"status":200}}
            """#
        #expect(try Checked(Self.recording(entry)).says("with JSON and \(text) answered 200"))
    }

    @Test func saysThatThereIsNoWebSocket() throws {
        let checked = try Checked(Self.recording())
        #expect(checked.says("no WebSocket to …/app/{key}: record from before the page is loaded"))
        #expect(checked.settings.apps[0].key == "app-key")
        #expect(
            refusal(Array(#"{"log":{"version":"1.2"}}"#.utf8))
                == #"a JSON object with "log", but without log.entries: no HAR recording"#)
        #expect(refusal(Array(#"{"log":[]}"#.utf8))?.contains("log.entries") == true)
    }

    @Test func readsAByteOrderMark() throws {
        let bytes = [0xEF, 0xBB, 0xBF] + Array(Self.recording(Self.socket()).utf8)
        #expect(refusal(bytes) == nil)
    }

    @Test func boundsWhatIsKept() throws {
        let messages = (0..<2_000).map { ("send", #"{"event":"pusher:subscribe","data":{"channel":"c\#($0)"}}"#) }
        let sockets = (0..<200).map { Self.socket("wss://h\($0)/app/k\($0)?protocol=7&client=c\($0)", $0 == 0 ? messages : nil) }
        let text = #"{"log":{"entries":[\#(sockets.joined(separator: ","))]}}"#
        let checked = try Checked(text)
        #expect(checked.settings.apps.count == 20 && checked.says("and 1980 more"))
        #expect(checked.text.utf8.count < 50_000)
    }

    /// 64 MB of one page's content do not become 64 MB of anything else.
    @Test func readsALargeRecording() throws {
        let filler = #"{"response":{"content":{"text":""# + String(repeating: "x", count: 1_000_000) + #""}}}"#
        let entries = Array(repeating: filler, count: 16) + [Self.socket()]
        let checked = try Checked(#"{"log":{"entries":[\#(entries.joined(separator: ","))]}}"#)
        #expect(checked.says("wss://ws-eu.pusher.com with the key k1") && checked.text.utf8.count < 10_000)
    }
}
