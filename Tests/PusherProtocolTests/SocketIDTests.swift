import PusherProtocol
import TestSupport
import Testing

@Suite struct SocketIDTests {
    @Test func encodesLoopAndSlot() {
        var dice = SplitMix(seed: 1)
        for (loop, slot) in [(0, 0), (0, 1), (1, 0), (255, 0), (0, 0xFF_FFFF), (255, 0xFF_FFFF), (7, 123_456)] {
            let socket = SocketID(loop: loop, slot: slot, using: &dice)
            #expect(socket.loop == loop && socket.slot == slot && socket.salt > 0)
        }
    }

    @Test func roundTrips() {
        var dice = SplitMix(seed: 2)
        for _ in 0..<1_000 {
            let loop = Int.random(in: 0..<256, using: &dice)
            let socket = SocketID(loop: loop, slot: Int.random(in: 0...0xFF_FFFF, using: &dice), using: &dice)
            #expect(SocketID(socket.description) == socket)
            #expect(SocketID(Substring(socket.description)) == socket)
            #expect(SocketID.isWellFormed(socket.description))
        }
    }

    @Test func hasTheFormDigitsDotDigits() {
        #expect(SocketID("4294967295.16777218")?.description == "4294967295.16777218")
        #expect(SocketID("1.0")?.description == "1.0")
    }

    @Test func reusedSlotGetsAnotherId() {
        var dice = SplitMix(seed: 3)
        let names = Set((0..<1_000).map { _ in SocketID(loop: 1, slot: 2, using: &dice).description })
        #expect(names.count == 1_000)
    }

    /// Texts that do not match `\A\d+\.\d+\z`, with which every server SDK checks a socket id (protocol point C3).
    static let illFormed = [
        "", ".", "1", "1.", ".1", "1.2.3", "1..2", ".1.2", "1.2.", "1,2", "a.b", "1.b", "0x1.2", "-1.2", "1.-2", "+1.2", "1.+2",
        " 1.2", "1.2 ", "1 .2", "1.2\n", "\n1.2", "1.2\0", "1e3.2", "\u{661}.\u{662}", "1.\u{301}2", "1.2\u{301}", "１.２", "null",
    ]

    @Test(arguments: illFormed) func rejectsMalformedIds(text: String) {
        #expect(!SocketID.isWellFormed(text))
        #expect(SocketID(text) == nil)
    }

    @Test(arguments: ["4294967296.1", "1.4294967296", "99999999999999999999.1", "0.1", "007.1", "1.00", "1.01"])
    func rejectsIdsThatNoServerCanIssue(text: String) {
        #expect(SocketID.isWellFormed(text))
        #expect(SocketID(text) == nil)
    }
}
