import Testing
import WebSocketFraming

private typealias Client = ClientFrame

/// What a client must not send, and the code with which the server closes.
extension FrameDecoderTests {
    struct Violation: CustomTestStringConvertible {
        let testDescription: String
        let code: UInt16
        let bytes: [UInt8]

        init(_ description: String, _ code: UInt16, _ bytes: [UInt8]) {
            (testDescription, self.code, self.bytes) = (description, code, bytes)
        }
    }

    static let violations: [Violation] =
        [
            Violation("no mask", 1002, [0x81, 0x01, 0x61]),
            Violation("no mask, control frame", 1002, [0x89, 0x00]),
            Violation("fragmented ping", 1002, Client.bytes(Client.ping, isFinal: false)),
            Violation("fragmented pong", 1002, Client.bytes(Client.pong, isFinal: false)),
            Violation("fragmented close", 1002, Client.bytes(Client.close, isFinal: false)),
            Violation("ping of 126 bytes", 1002, Client.bytes(Client.ping, Array(repeating: 0, count: 126))),
            Violation("ping with a length of 8 bytes", 1002, [0x89, 0xFF]),
            Violation("close of 126 bytes", 1002, Client.close(1000, Array(repeating: 0x61, count: 124))),
            Violation("125 bytes in the 16-bit form", 1002, [0x81, 0xFE, 0, 125]),
            Violation("no bytes in the 16-bit form", 1002, [0x81, 0xFE, 0, 0]),
            Violation("65,535 bytes in the 64-bit form", 1002, [0x81, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]),
            Violation("no bytes in the 64-bit form", 1002, [0x81, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0]),
            Violation("top bit of the length", 1002, [0x81, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0]),
            Violation("length of 2^64 - 1", 1002, [0x81] + Array(repeating: 0xFF, count: 9)),
            Violation("continuation outside of a message", 1002, Client.continuation("a")),
            Violation("message within a message", 1002, Client.text("a", isFinal: false) + Client.text("b")),
            Violation("binary message within a message", 1002, Client.text("a", isFinal: false) + Client.bytes(Client.binary)),
            Violation("close payload of one byte", 1002, Client.bytes(Client.close, [3])),
            Violation("close reason is not UTF-8", 1007, Client.close(1000, [0xFF, 0xFE])),
            Violation("close reason ends within a character", 1007, Client.close(1000, [0xE2, 0x82])),
            Violation("text is not UTF-8", 1007, Client.bytes(Client.text, [0x61, 0xFF])),
            Violation("text ends within a character", 1007, Client.bytes(Client.text, [0x61, 0xE2, 0x82])),
            Violation(
                "fragments are not UTF-8 together", 1007,
                Client.bytes(Client.text, [0xE2, 0x82], isFinal: false) + Client.continuation("a")),
            Violation(
                "fragments end within a character", 1007,
                Client.bytes(Client.text, [0xE2], isFinal: false) + Client.bytes(Client.continuation, [0x82])),
            Violation("one byte above the limit", 1009, Client.bytes(Client.text, Array(repeating: 0x61, count: 1001))),
            Violation("header above the limit", 1009, [0x81, 0xFE, 0x03, 0xE9, 0, 0, 0, 0]),
            Violation("header far above the limit", 1009, [0x81, 0xFF, 0x7F] + Array(repeating: 0xFF, count: 7) + [0, 0, 0, 0]),
            Violation(
                "fragments above the limit", 1009,
                Client.bytes(Client.text, Array(repeating: 0x61, count: 1000), isFinal: false) + Client.continuation("a")),
        ]
        + [0x10, 0x20, 0x40, 0x70].map { Violation("reserved bits \($0)", 1002, [0x81 | $0, 0x80, 0, 0, 0, 0]) }
        + [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map { Violation("opcode \($0)", 1002, Client.bytes($0)) }
        + [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535].map {
            Violation("close code \($0)", 1002, Client.close($0))
        }

    private func decoder() -> FrameDecoder { FrameDecoder(messageBytesMax: 1000) }

    @Test(arguments: violations) func failsOn(violation: Violation) {
        var decoder = decoder()
        #expect(decoder.events(of: violation.bytes) == [.failed(violation.code)])
        #expect(decoder.events(of: Client.text("late") + Client.close(1000)) == [])
        #expect(!decoder.isIdle)
    }

    @Test(arguments: violations) func deliversWhatCameBefore(violation: Violation) {
        var decoder = decoder()
        let before = Client.text("a") + Client.bytes(Client.ping, [1])
        #expect(decoder.events(of: before + violation.bytes + before) == [.text("a"), .ping([1]), .failed(violation.code)])
    }

    @Test(arguments: violations) func failsHoweverTheBytesAreSplit(violation: Violation) {
        for end in 0...min(violation.bytes.count, 20) {
            var decoder = decoder()
            #expect(decoder.events(of: violation.bytes, pieces: [end]) == [.failed(violation.code)])
        }
        var decoder = decoder()
        let bytewise = decoder.events(of: violation.bytes, pieces: violation.bytes.map { _ in 1 })
        #expect(bytewise == [.failed(violation.code)])
    }

    @Test func failsAtTheFirstInvalidByte() {
        let frame = Client.bytes(Client.text, [0x61, 0xED, 0xA0] + Array(repeating: 0x61, count: 50))
        var decoder = decoder()
        #expect(decoder.events(of: Array(frame[..<8])) == [])
        #expect(decoder.events(of: [frame[8]]) == [.failed(1007)])
    }

    @Test func acceptsAMessageAtTheLimit() {
        let text = Array(repeating: UInt8(ascii: "a"), count: 1000)
        let fragments = [
            Client.bytes(Client.text, Array(text[..<600]), isFinal: false), Client.bytes(Client.ping, Array(text[..<125])),
            Client.bytes(Client.continuation, Array(text[600...])),
        ]
        var decoder = decoder()
        #expect(decoder.events(of: Client.bytes(Client.text, text)) == [.text(text)])
        #expect(decoder.events(of: Array(fragments.joined())) == [.ping(Array(text[..<125])), .text(text)])
        #expect(decoder.events(of: Client.bytes(Client.text, text)) == [.text(text)])
    }

    @Test func closeReasonsFitACloseFrame() {
        for violation in Self.violations {
            var (decoder, bytes, offset) = (decoder(), violation.bytes, 0)
            bytes.withUnsafeMutableBytes { bytes in
                while let event = decoder.next(in: bytes, at: &offset) {
                    guard case .failed(_, let reason) = event else { continue }
                    #expect(!reason.isEmpty && reason.utf8.count <= 123)
                }
            }
        }
    }
}
