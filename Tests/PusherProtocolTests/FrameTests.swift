import PusherProtocol
import Testing

@Suite struct FrameTests {
    /// A header (RFC 6455 section 5.2) has the FIN bit, the opcode of text, no mask, and the length in its shortest
    /// form, big-endian.
    static let headers: [(length: Int, header: [UInt8])] = [
        (0, [0x81, 0]), (1, [0x81, 1]), (125, [0x81, 125]), (126, [0x81, 126, 0, 126]), (255, [0x81, 126, 0, 255]),
        (256, [0x81, 126, 1, 0]), (65_535, [0x81, 126, 0xFF, 0xFF]), (65_536, [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        (70_000, [0x81, 127, 0, 0, 0, 0, 0, 1, 0x11, 0x70]),
    ]

    @Test(arguments: headers) func usesTheShortestHeader(length: Int, header: [UInt8]) {
        let text = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(Frame(text: text).bytes == header + text)
    }

    @Test func concatenatesPieces() {
        let pieces = ["", "{\"a\":", "", String(repeating: "é", count: 100), "}", ""].map { Array($0.utf8) }
        let whole = Frame(text: Array(pieces.joined()))
        pieces[1].withUnsafeBytes { first in
            pieces[3].withUnsafeBytes { second in
                pieces[4].withUnsafeBytes { third in
                    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
                    #expect(Frame(pieces: [empty, first, empty, second, third, empty]) == whole)
                }
            }
        }
    }

    @Test func framesAnEmptyMessage() {
        #expect(Frame(pieces: []).bytes == [0x81, 0])
        #expect(Frame(text: []).bytes == [0x81, 0])
    }

    @Test func joinsFramesInOrder() {
        let frames = ["", "a", String(repeating: "b", count: 300)].map { Frame(text: Array($0.utf8)) }
        #expect(Frame(joining: frames).bytes == frames.flatMap(\.bytes))
        #expect(Frame(joining: frames.prefix(1)) == frames[0])
        #expect(Frame(joining: []).bytes.isEmpty)
    }

    @Test func countsItsMessages() {
        let one = Frame(text: [0x7B, 0x7D])
        let three = Frame(joining: [one, one, one])
        #expect(one.messageCount == 1 && three.messageCount == 3)
        #expect(Frame(joining: [three, one, three]).messageCount == 7)
        #expect(Frame(joining: []).messageCount == 0)
    }

    @Test func controlFramesCountNoMessages() {
        let payload = Array("né".utf8)
        let frames: [(frame: Frame, bytes: [UInt8])] = [
            (.ping(payload: payload), [0x89, 3] + payload), (.ping(payload: []), [0x89, 0]),
            (payload.withUnsafeBytes { .pong(payload: $0) }, [0x8A, 3] + payload),
            (Frame(close: 1000, reason: "né"), [0x88, 5, 0x03, 0xE8] + payload), (Frame(close: nil), [0x88, 0]),
        ]
        for (frame, bytes) in frames {
            #expect(frame.bytes == bytes && frame.messageCount == 0)
            #expect(Frame(joining: [frame, Frame(text: [0x7B, 0x7D]), frame]).messageCount == 1)
        }
    }
}
