import TestSupport
import Testing
import WebSocketFraming

private typealias Client = ClientFrame

@Suite struct FrameDecoderTests {
    private func events(_ bytes: [UInt8], messageBytesMax: Int = 65_536) -> [DecodedEvent] {
        var decoder = FrameDecoder(messageBytesMax: messageBytesMax)
        return decoder.events(of: bytes)
    }

    // MARK: Frames

    @Test func decodesTheExamplesOfTheRFC() {
        // RFC 6455 section 5.7; the examples without a mask are a server's frames.
        let hello: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(events(hello) == [.text("Hello")])
        let pong: [UInt8] = [0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(events(pong) == [.pong(Array("Hello".utf8))])
    }

    @Test(arguments: [0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 31, 32, 33, 125, 126, 127, 255, 256, 65_535, 65_536, 70_000])
    func decodesEveryLength(length: Int) {
        let text = (0..<length).map { UInt8($0 % 128) }
        #expect(events(Client.bytes(Client.text, text), messageBytesMax: 100_000) == [.text(text)])
    }

    @Test func decodesManyFramesAtOnce() {
        let bytes = Client.text("a") + Client.bytes(Client.ping) + Client.bytes(Client.pong, [0xFF]) + Client.text("")
        let expected: [DecodedEvent] = [.text("a"), .ping([]), .pong([0xFF]), .text("")]
        #expect(events(bytes + bytes) == expected + expected)
    }

    @Test func chargesFramesWhetherTheyCauseEventsOrNot() {
        var decoder = FrameDecoder(messageBytesMax: 100)
        let fragments = Client.text("a", isFinal: false) + Client.continuation("", isFinal: false)
        _ = decoder.events(of: fragments + Client.bytes(Client.ping) + Client.bytes(Client.continuation).dropLast())
        #expect(decoder.cost == 3)
        decoder.cost = 0
        _ = decoder.events(of: Client.bytes(Client.continuation).suffix(1) + Client.text("b"))
        #expect(decoder.cost == 2, "a frame counts when its header is complete")
    }

    @Test(arguments: [(0, 1), (1, 1), (1_024, 1), (1_025, 2), (2_048, 2), (65_536, 64)])
    func chargesEachStartedKibibyte(length: Int, cost: Int) {
        var decoder = FrameDecoder(messageBytesMax: 65_536)
        _ = decoder.events(of: Client.text(String(repeating: "x", count: length)))
        #expect(decoder.cost == cost)
    }

    @Test func chargesWhatAFrameAnnounces() {
        var decoder = FrameDecoder(messageBytesMax: 65_536)
        _ = decoder.events(of: Array(Client.text(String(repeating: "x", count: 65_536)).prefix(100)))
        #expect(decoder.cost == 64)
        // The longest length that a header can announce.
        decoder = FrameDecoder(messageBytesMax: 65_536)
        decoder.stopDelivering()
        _ = decoder.events(of: [0x81, 0xFF, 0x7F] + [UInt8](repeating: 0xFF, count: 7) + [0, 0, 0, 0])
        #expect(decoder.cost == 1 << 53)
    }

    @Test func beginsNoFrameAboveTheMaximum() {
        let fragment = Client.continuation("", isFinal: false)
        var bytes = Client.text("a", isFinal: false) + fragment + fragment + Client.continuation("b")
        let thirdFrame = Client.text("a", isFinal: false).count + fragment.count
        bytes.withUnsafeMutableBytes { bytes in
            var decoder = FrameDecoder(messageBytesMax: 100)
            var offset = 0
            let event = decoder.next(in: bytes, at: &offset, costMax: 2)
            #expect(event.map { _ in true } == nil)
            #expect(offset == thirdFrame && decoder.cost == 2)
            decoder.cost = 0
            guard case .text(let text) = decoder.next(in: bytes, at: &offset, costMax: 2) else {
                Issue.record("no text")
                return
            }
            #expect(text.elementsEqual("ab".utf8) && offset == bytes.count)
        }
    }

    @Test func handsOutWholeFramesWithoutCopying() {
        var bytes = Client.text("whole")
        bytes.withUnsafeMutableBytes { bytes in
            var decoder = FrameDecoder(messageBytesMax: 100)
            var offset = 0
            guard case .text(let text) = decoder.next(in: bytes, at: &offset) else {
                Issue.record("no text")
                return
            }
            #expect(text.baseAddress == UnsafeRawPointer(bytes.baseAddress! + 6))
        }
    }

    // MARK: Messages

    @Test func joinsFragments() {
        let bytes =
            Client.text("", isFinal: false) + Client.continuation("Zür", isFinal: false)
            + Client.continuation("", isFinal: false) + Client.continuation("ich")
        #expect(events(bytes + bytes) == [.text("Zürich"), .text("Zürich")])
    }

    @Test func decodesControlFramesBetweenFragments() {
        let bytes =
            Client.text("a", isFinal: false) + Client.bytes(Client.ping, [1]) + Client.continuation("b", isFinal: false)
            + Client.bytes(Client.pong, [2]) + Client.bytes(Client.ping) + Client.continuation("c") + Client.bytes(Client.ping)
        #expect(events(bytes) == [.ping([1]), .pong([2]), .ping([]), .text("abc"), .ping([])])
    }

    @Test func acceptsACharacterThatFragmentsSplit() {
        let text = Array("€😀".utf8)
        for first in 0...text.count {
            for second in first...text.count {
                let bytes =
                    Client.bytes(Client.text, Array(text[..<first]), isFinal: false)
                    + Client.bytes(Client.continuation, Array(text[first..<second]), isFinal: false)
                    + Client.bytes(Client.continuation, Array(text[second...]))
                #expect(events(bytes) == [.text(text)])
            }
        }
    }

    @Test func reportsABinaryMessageAtItsHeaderAndSkipsIt() {
        let header = Client.bytes(Client.binary, Array(repeating: 0xFF, count: 1000), isFinal: false).prefix(8)
        #expect(events(Array(header)) == [.binary])
        let bytes =
            Client.bytes(Client.binary, [0xFF], isFinal: false) + Client.continuation("x") + Client.text("y")
            + Client.bytes(Client.binary) + Client.bytes(Client.ping, [1]) + Client.close(1003)
        #expect(events(bytes) == [.binary, .ping([1]), .close(1003, reason: [])])
    }

    // MARK: Closing

    @Test(arguments: [1000, 1001, 1002, 1003, 1007, 1011, 1014, 3000, 4999] as [UInt16])
    func acceptsCloseCodesOfTheWire(code: UInt16) {
        #expect(events(Client.close(code)) == [.close(code, reason: [])])
    }

    @Test func decodesACloseFrameWithoutACode() {
        #expect(events(Client.bytes(Client.close)) == [.close(nil, reason: [])])
    }

    @Test func decodesTheLongestCloseReason() {
        let reason = Array(repeating: UInt8(ascii: "r"), count: 123)
        #expect(events(Client.close(1000, reason)) == [.close(1000, reason: reason)])
    }

    @Test func discardsWhatFollowsACloseFrame() {
        #expect(events(Client.close(1001) + Client.text("late") + Client.close(1002)) == [.close(1001, reason: [])])
        var decoder = FrameDecoder(messageBytesMax: 10)
        #expect(decoder.events(of: Client.text("a", isFinal: false) + Client.close(1001) + [0xFF]) == [.close(1001, reason: [])])
        decoder.stopDelivering()
        #expect(decoder.events(of: Client.bytes(Client.ping) + Client.close(1002)) == [])
        #expect(!decoder.isIdle)
    }

    @Test func stopsDelivering() {
        var decoder = FrameDecoder(messageBytesMax: 10)
        #expect(decoder.events(of: Client.text("a", isFinal: false) + Client.continuation("b").prefix(6)) == [])
        decoder.stopDelivering()
        // The rest of a frame, a message above the limit, a lone fragment, and invalid UTF-8.
        let skipped =
            Array(Client.continuation("b")[6...]) + Client.text(String(repeating: "c", count: 11))
            + Client.continuation("d") + Client.bytes(Client.text, [0xFF])
        #expect(decoder.events(of: skipped + Client.bytes(Client.ping, [7])) == [.ping([7])])
        #expect(decoder.events(of: Client.close(1000, Array("bye".utf8))) == [.close(1000, reason: Array("bye".utf8))])
        #expect(decoder.events(of: Client.close(1000)) == [])
        #expect(!decoder.isIdle)
    }

    // MARK: State

    @Test func keepsNothingBetweenMessages() {
        var decoder = FrameDecoder(messageBytesMax: 100)
        #expect(decoder.isIdle)
        _ = decoder.events(of: Client.text("a") + Client.bytes(Client.ping, [1]))
        #expect(decoder.isIdle)
        for frame in [Client.text("abc"), Client.bytes(Client.ping, [1, 2, 3])] {
            for end in 1..<frame.count {
                #expect(decoder.events(of: Array(frame[..<end])) == [])
                #expect(!decoder.isIdle)
                #expect(decoder.events(of: Array(frame[end...])).count == 1)
                #expect(decoder.isIdle)
            }
        }
        _ = decoder.events(of: Client.text("a", isFinal: false))
        #expect(!decoder.isIdle)
        _ = decoder.events(of: Client.continuation(""))
        #expect(decoder.isIdle)
    }

    @Test func copiesAreIndependent() {
        var one = FrameDecoder(messageBytesMax: 100)
        _ = one.events(of: Client.text("a", isFinal: false))
        var other = one
        _ = one.events(of: Client.continuation("b", isFinal: false))
        _ = other.events(of: Client.continuation("c", isFinal: false))
        #expect(one.events(of: Client.continuation("")) == [.text("ab")])
        #expect(other.events(of: Client.continuation("")) == [.text("ac")])
    }
}
