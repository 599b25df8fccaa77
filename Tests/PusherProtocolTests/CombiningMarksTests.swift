import PusherProtocol
import Testing

/// Input with many combining marks must not be slow. Swift compares strings by canonical equivalence, in time quadratic
/// in a character's combining marks: with as many as here, a single comparison takes minutes.
@Suite(.timeLimit(.minutes(5))) struct CombiningMarksTests {
    private static let marks = String(repeating: "\u{301}\u{316}", count: 150_000)

    @Test(arguments: ["", "p", "pusher:ping", "a"]) func combiningMarksAreNotAnEvent(head: String) {
        for text in [
            #"{"event":"\#(head)\#(Self.marks)"}"#,
            #"{"event":"pusher:subscribe","data":{"\#(head)\#(Self.marks)":"x","c\#(Self.marks)":"x"}}"#,
        ] {
            #expect(throws: ProtocolError.self) { try Array(text.utf8).withUnsafeBytes { try ClientMessage($0) } }
        }
    }

    @Test func combiningMarksMayFollowAClientEventName() throws {
        for mark in ["\u{301}", Self.marks] {
            let text = #"{"event":"client-\#(mark)","channel":"private-x"}"#
            let message = try Array(text.utf8).withUnsafeBytes { try ClientMessage($0) }
            guard case .clientEvent(let event) = message else {
                Issue.record("\(message)")
                continue
            }
            // Of a name that is too long in any case, only the beginning is read.
            #expect(event.name.utf8.count == min(7 + mark.utf8.count, Limits.nameBytesMax + 1))
        }
    }

    @Test(arguments: ["", "p", "#", "private-", "#server-to-user-", "#server-to-user-1"])
    func combiningMarksAreNotAChannel(head: String) {
        #expect(ChannelName(head + Self.marks, lengthMax: 200) == nil)
        #expect(ChannelName(head + "\u{301}", lengthMax: 200)?.access != .open)
    }

    @Test(arguments: ["", "1", "1.", ".", "1.2"]) func combiningMarksAreNotASocketID(head: String) {
        #expect(SocketID(head + Self.marks) == nil && !SocketID.isWellFormed(head + Self.marks))
    }

    /// Swift finds the start of a character in a row of regional indicators, of which flags consist, by counting those
    /// before it.
    private static let flags = String(repeating: "\u{1F1E6}", count: 150_000)

    @Test func flagsAndCombiningMarksAreNotASignature() throws {
        for text in [
            Self.flags, Self.marks, "key1:" + Self.flags, "key1:" + Self.marks, Self.flags + ":sig", Self.marks + ":sig",
        ] {
            let socket = try #require(SocketID("1.2"))
            let request = SubscriptionRequest(channel: "private-x", auth: text)
            #expect(throws: ProtocolError.self) {
                try request.grant(to: socket, key: "key1", limits: Limits()) { $1.utf8.elementsEqual("sig".utf8) }
            }
        }
    }

    @Test func flagsAndCombiningMarksAreReadAsAKey() {
        for text in [Self.flags, Self.marks, "key1" + Self.marks] {
            guard case .app(let key, 7) = Handshake(path: "/app/" + text, query: { _ in "7" }) else {
                Issue.record("not a key")
                continue
            }
            #expect(key.utf8.elementsEqual(text.utf8))
            guard case .refused(.pathNotFound, _, _) = Handshake(path: text + "/app/", query: { _ in "7" }) else {
                Issue.record("a path")
                continue
            }
        }
    }
}
