import Testing
import WebSocketFraming

@Suite struct FrameEncoderTests {
    @Test func encodesTheExamplesOfTheRFC() {
        // RFC 6455 section 5.7.
        #expect(FrameEncoder.ping(payload: "Hello".utf8) == [0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
        #expect(FrameEncoder.pong(payload: "Hello".utf8) == [0x8A, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
    }

    @Test func encodesControlFramesOfEveryLength() {
        for length in 0...125 {
            let payload = (0..<length).map { UInt8($0) }
            #expect(FrameEncoder.ping(payload: payload) == [0x89, UInt8(length)] + payload)
            #expect(FrameEncoder.pong(payload: payload) == [0x8A, UInt8(length)] + payload)
        }
    }

    @Test func encodesCloseFrames() {
        #expect(FrameEncoder.close(code: nil) == [0x88, 0])
        #expect(FrameEncoder.close(code: nil, reason: "not sent without a code") == [0x88, 0])
        #expect(FrameEncoder.close(code: 1000) == [0x88, 2, 0x03, 0xE8])
        #expect(FrameEncoder.close(code: 4201, reason: "é") == [0x88, 4, 0x10, 0x69, 0xC3, 0xA9])
    }

    @Test(arguments: ["a", "é", "€", "😀"]) func cutsALongReasonAtACharacter(character: String) {
        for offset in 0..<4 {
            let reason = String(repeating: "-", count: offset) + String(repeating: character, count: 200)
            let frame = FrameEncoder.close(code: 4009, reason: reason)
            let width = character.utf8.count
            let count = offset + (123 - offset) / width * width
            #expect(frame == [0x88, UInt8(2 + count), 0x0F, 0xA9] + Array(reason.utf8.prefix(count)))
            #expect(String(validating: frame.dropFirst(4), as: UTF8.self) != nil)
        }
    }

    @Test func sendsAReasonThatFitsUncut() {
        let reason = String(repeating: "r", count: 123)
        #expect(FrameEncoder.close(code: 1000, reason: reason) == [0x88, 125, 0x03, 0xE8] + Array(reason.utf8))
    }
}
