import FanOut
import PusherProtocol
import WebSocketFraming

extension Parser {
    static let message = Parser(
        name: "message",
        plain: filled(#"{"event":"client-positions","channel":"private-driver-42","data":["#, objects, "1]}"),
        worst: [
            ("a text", filled(#"{"event":"client-a","channel":"private-a","data":""#, "a", #""}"#)),
            ("JSON as data", filled(#"{"event":"client-a","channel":"private-a","data":""#, escapedObjects, #""}"#)),
            ("escaped names", filled(#"{"event":"pusher:subscribe","data":{"#, #""\n":1,"#, #""channel":"a b"}}"#)),
            ("escaped names outside", filled("{", #""\n":1,"#, #""event":"x"}"#)),
            (
                "names with known letters",
                filled(#"{"event":"pusher:subscribe","data":{"#, #""\u0063hanne":1,"#, #""channel":"a b"}}"#)
            ),
            ("empty names", filled(#"{"event":"pusher:subscribe","data":{"#, #""":1,"#, #""channel":"a b"}}"#)),
            ("channel named again", filled(#"{"event":"pusher:subscribe","data":{"#, #""channel":"a","#, #""channel":"a b"}}"#)),
            ("event named again", filled("{", #""event":"\n","#, #""event":"x"}"#)),
            ("escaped channel", filled(#"{"event":"pusher:subscribe","data":{"channel":""#, #"\n"#, #""}}"#)),
            ("half escaped channel", filled(#"{"event":"pusher:subscribe","data":{"channel":""#, #"a\n"#, #""}}"#)),
            ("escaped event", filled(#"{"event":""#, #"\n"#, #"","data":{}}"#)),
            ("escaped data", filled(#"{"event":"client-a","channel":"private-a","data":""#, #"\n"#, #""}"#)),
            ("data to escape", filled(#"{"event":"client-a","channel":"private-a","data":["#, #""\n","#, #"1]}"#)),
            ("brackets", filled(#"{"event":"x","data":["#, "[],", "[]]}")),
            ("braces", filled(#"{"event":"x","data":["#, "{},", "{}]}")),
            (
                "deep brackets",
                filled(
                    #"{"event":"x","data":["#, String(repeating: "[", count: 60) + String(repeating: "]", count: 60) + ",", "1]}")
            ),
            ("digits", filled(#"{"event":"x","data":["#, "1,", "1]}")),
            ("a long number", filled(#"{"event":"x","data":"#, "1", "}")),
            ("space", filled(#"{"event":"x","data":"#, " ", "1}")),
            ("letters of two bytes", filled(#"{"event":"client-a","channel":"private-a","data":""#, "é", #""}"#)),
            ("emoji", filled(#"{"event":"client-a","channel":"private-a","data":""#, "🚚", #""}"#)),
            ("half letters of two bytes", filled(#"{"event":"client-a","channel":"private-a","data":""#, "aé", #""}"#)),
            ("emoji in the channel", filled(#"{"event":"pusher:subscribe","data":{"channel":""#, "🚚", #""}}"#)),
            (
                "combining marks",
                filled(##"{"event":"pusher:subscribe","data":{"channel":"#server-to-user-"##, "\u{301}", #""}}"#)
            ),
            (
                "escaped channel_data",
                filled(
                    #"{"event":"pusher:subscribe","data":{"channel":"presence-a","auth":"k:1","channel_data":""#, #"\n"#, #""}}"#)
            ),
            (
                "half escaped channel_data",
                filled(
                    #"{"event":"pusher:subscribe","data":{"channel":"presence-a","auth":"k:1","channel_data":""#, #"a\n"#, #""}}"#
                )
            ),
            (
                "emoji in channel_data",
                filled(
                    #"{"event":"pusher:subscribe","data":{"channel":"presence-a","auth":"k:1","channel_data":""#,
                    #"\ud83d\ude9a"#, #""}}"#)
            ),
            ("escaped auth", filled(#"{"event":"pusher:subscribe","data":{"channel":"private-a","auth":""#, #"\n"#, #""}}"#)),
            ("literals", filled(#"{"event":"x","data":["#, "null,", "1]}")),
            ("exponents", filled(#"{"event":"x","data":["#, "-1.5e-7,", "1]}")),
            ("long numbers", filled(#"{"event":"x","data":["#, "-123456789.123456789e-123,", "1]}")),
            (
                "deep objects",
                filled(
                    #"{"event":"x","data":["#,
                    String(repeating: #"{"":"#, count: 60) + "1" + String(repeating: "}", count: 60) + ",",
                    "1]}")
            ),
            ("regional indicators", filled(##"{"event":"pusher:subscribe","data":{"channel":"#server-to-user-"##, "🇩🇪", #""}}"#)),
            ("regional indicators in the event", filled(#"{"event":"client-"#, "🇩🇪", #"","channel":"private-a"}"#)),
            ("combining marks in the event", filled(#"{"event":"client-"#, "\u{301}", #"","channel":"private-a"}"#)),
            ("escaped user_data", filled(#"{"event":"pusher:signin","data":{"auth":"k:1","user_data":""#, #"\n"#, #""}}"#)),
        ],
        parse: { bytes in
            bytes.withUnsafeBytes { text in
                _ = MessageAction(to: text, from: socket, key: "k", rules: rules, user: nil) { app.verifies($1, of: $0) }
            }
        })

    /// A text frame, unmasked as it arrives.
    static let frames = Parser(
        name: "text frame",
        // As people, streets and towns are called.
        plain: filled("", #"{"name":"Jörg Brückner","street":"Müllerstraße 7","note":"2nd floor"},"#),
        worst: [
            ("ASCII", filled("", "a")), ("letters of two bytes", filled("", "é")), ("letters of three bytes", filled("", "€")),
            ("emoji", filled("", "🚚")),
            ("half letters of two bytes", filled("", "aé")),
        ],
        parse: { bytes in
            var frame: [UInt8] = [0x81, 0xFE, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF), 0, 0, 0, 0] + bytes
            var decoder = FrameDecoder(messageBytesMax: 65_536)
            var offset = 0
            frame.withUnsafeMutableBytes { _ = decoder.next(in: $0, at: &offset) }
        })

    static let member = Parser(
        name: "channel_data",
        plain: filled(#"{"user_id":"1","user_info":{"vehicles":["#, objects, "1]}}"),
        worst: [
            ("escapes", filled(#"{"user_id":"1","user_info":{"name":""#, #"\n"#, #""}}"#)),
            ("an escaped id", filled(#"{"user_id":""#, #"\n"#, #""}"#)),
            ("user_info again", filled(#"{"user_id":"1""#, #","user_info":1"#, "}")),
            ("user_id again", filled(#"{"user_id":"1""#, #","user_id":"\n""#, "}")),
            ("members", filled(#"{"user_id":"1""#, #","":1"#, "}")),
            ("brackets", filled(#"{"user_id":"1","user_info":["#, "[],", "1]}")),
        ],
        parse: { bytes in _ = try? PresenceMember(channelData: String(decoding: bytes, as: UTF8.self), limits: rules.limits) })

    static let signin = Parser(
        name: "user_data",
        plain: filled(#"{"id":"1","watchlist":["2","3"],"user_info":{"vehicles":["#, objects, "1]}}"),
        worst: [
            ("a watchlist", numbered(#"{"id":"1","watchlist":["#, #""1"]}"#) { #""\#($0)","# }),
            ("a watchlist of one id", filled(#"{"id":"1","watchlist":["#, #""1","#, #""1"]}"#)),
            (
                "combining marks",
                numbered(#"{"id":"1","watchlist":["#, #""1"]}"#) { "\"\($0)" + String(repeating: "\u{301}", count: 30) + "\"," }
            ),
            ("watchlists", filled(#"{"id":"1""#, #","watchlist":["1"]"#, "}")),
            ("bookings", numbered(#"{"id":"1","bookings":["#, #""1"]}"#) { #""\#($0)","# }),
            ("escapes", filled(#"{"id":"1","user_info":""#, #"\n"#, #""}"#)),
        ],
        parse: { bytes in
            let request = SigninRequest(auth: "k:1", userData: String(decoding: bytes, as: UTF8.self))
            _ = try? request.user(on: socket, key: "k", limits: rules.limits) { _, _ in true }
        })
}
