import PusherProtocol
import Testing

/// Input with many combining marks must not be slow. Swift compares strings by canonical equivalence, in time quadratic
/// in a character's combining marks: with as many as here, a single comparison takes minutes.
@Suite(.timeLimit(.minutes(1))) struct CombiningMarksTests {
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
            #expect(event.name.utf8.count == 7 + mark.utf8.count)
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
}
