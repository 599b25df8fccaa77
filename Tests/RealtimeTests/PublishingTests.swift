import FanOut
import PusherProtocol
import Testing

@testable import Realtime

/// What a program publishes by ``RealtimeServer/publish(_:data:on:ofApp:)``.
@Suite struct PublishingTests {
    private func request(_ event: String, _ data: String, _ channels: String...) throws -> [(String, String)] {
        let request = try RealtimeServer.request(event, data: data, on: channels, AppRules())
        return request.events.flatMap(\.publications).map { ($0.channel.text, String(decoding: $0.frame.bytes, as: UTF8.self)) }
    }

    @Test func subscribersGetTheEvent() throws {
        let publications = try request("price", #"{"p":"1 \"€\""}"#, "a", "private-b")
        #expect(publications.map(\.0) == ["a", "private-b"])
        #expect(publications[1].1.contains(#"{"event":"price","channel":"private-b","data":"{\"p\":\"1 \\\"€\\\"\"}"}"#))
    }

    /// A program may pass on what people have entered.
    @Test(arguments: [
        ("", "x", "a"), ("pusher:error", "x", "a"), ("e", "x", "two words"), ("e", "x", ""),
        (String(repeating: "e", count: 201), "x", "a"), ("e", String(repeating: "x", count: 10_241), "a"),
    ])
    func whatABackendMayNotPublishIsRefused(event: String, data: String, channel: String) {
        #expect(throws: RealtimeServer.PublishError.self) { try request(event, data, channel) }
    }
}
