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

    @Test(arguments: [0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 31, 125, 126, 127, 255, 256, 65_535, 65_536, 70_000])
    func decodesEveryLength(length: Int) {
        let text = (0..<length).map { UInt8($0 % 128) }
        #expect(events(Client.bytes(Client.text, text), messageBytesMax: 100_000) == [.text(text)])
    }

    @Test func decodesManyFramesAtOnce() {
        let bytes = Client.text("a") + Client.bytes(Client.ping) + Client.bytes(Client.pong, [0xFF]) + Client.text("")
        let expected: [DecodedEvent] = [.text("a"), .ping([]), .pong([0xFF]), .text("")]
        #expect(events(bytes + bytes) == expected + expected)
    }

    @Test func keepsNothingBetweenMessages() {
        var decoder = FrameDecoder(messageBytesMax: 100)
        #expect(decoder.isIdle)
        _ = decoder.events(of: Client.text("a") + Client.bytes(Client.ping, [1]))
        #expect(decoder.isIdle)
        for end in 1..<Client.text("abc").count {
            var decoder = decoder
            #expect(decoder.events(of: Array(Client.text("abc").prefix(end))) == [])
            #expect(!decoder.isIdle)
            #expect(decoder.events(of: Array(Client.text("abc").dropFirst(end))) == [.text("abc")])
            #expect(decoder.isIdle)
        }
        _ = decoder.events(of: Client.text("a", isFinal: false))
        #expect(!decoder.isIdle)
        _ = decoder.events(of: Client.continuation(""))
        #expect(decoder.isIdle)
    }
}
