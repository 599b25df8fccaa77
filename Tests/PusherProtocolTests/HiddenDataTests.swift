import PusherProtocol
import Testing

/// Events whose data has members that some subscribers do not get.
@Suite struct HiddenDataTests {
    private func hiding(_ names: [String] = ["customerName"], in data: String) throws -> Frame {
        let channel = try channel()
        return ServerMessage.event(Self.event(data, on: channel), on: channel, hiding: names)
    }

    private func channel() throws -> ChannelName { try #require(ChannelName("driver-42", lengthMax: 200)) }

    private static func event(_ data: String, on channel: ChannelName) -> Frame {
        ServerMessage.event("job-assigned", channel, data: Array(data.utf8))
    }

    @Test("the members of JSON are null at any depth, and texts stay as they are")
    func members() throws {
        for (data, expected) in [
            (#"{"a":[{"customerName":{"b":1}}]}"#, #"{"a":[{"customerName":null}]}"#), ("customerName", "customerName"),
            (#""customerName""#, #""customerName""#), ("", ""), ("1}", "1}"), ("null", "null"),
            ("\u{FEFF}{\"customerName\":\"SEC\"}", #"{"customerName":null}"#),
        ] {
            #expect(try hiding(in: data) == Self.event(expected, on: try channel()), "\(data)")
        }
    }

    /// Lenient parsers of apps read some of these.
    @Test(
        "what begins like JSON and is none is null as a whole",
        arguments: [
            #"{"a":NaN,"customerName":"SEC"}"#, #"{"customerName":"SEC""#, #"{"customerName":"SEC"} x"#, "[",
            #"{'customerName':'SEC'}"#, "\u{FEFF}{\"customerName\":\"SEC\"", " \n\t\u{B}{\"customerName\":\"SEC\",}",
            String(repeating: "[", count: 70) + #"{"customerName":"SEC"}"# + String(repeating: "]", count: 70),
        ])
    func unreadable(data: String) throws {
        #expect(try hiding(in: data) == Self.event("null", on: try channel()))
        let whole = String(decoding: Self.event(data, on: try channel()).bytes, as: UTF8.self)
        #expect(data == "[" || whole.contains("SEC"), "the others get it")
    }

    @Test("a client's event is hidden in part likewise")
    func clientEvents() {
        for (data, expected) in [
            (#""{\"customerName\":\"SEC\",\"a\":1}""#, #""{\"customerName\":null,\"a\":1}""#),
            (#""{\"customerName\":\"SEC\"""#, #""null""#), (#""SEC""#, #""SEC""#), ("null", "null"),
            (#"{"customerName":"SEC"}"#, #"{"customerName":null}"#), (#"{"customerName":"SEC""#, "null"),
        ] {
            let event = ClientEvent(name: "client-a", channel: "driver-42", data: Array(data.utf8))
            #expect(String(decoding: event.hiding(["customerName"]).data, as: UTF8.self) == expected)
        }
    }
}
