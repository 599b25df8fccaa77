import TestSupport
import Testing
import WebSocketFraming

private typealias Client = ClientFrame

/// Random frames, some of them invalid: however they are split, the decoder's events are the same.
extension FrameDecoderTests {
    @Test(arguments: UInt64(1)...100) func anySplitEqualsTheWhole(seed: UInt64) {
        var dice = SplitMix(seed: seed)
        for _ in 0..<20 {
            let bytes = Self.randomFrames(&dice)
            var whole = FrameDecoder(messageBytesMax: 300)
            let expected = whole.events(of: bytes)
            var bytewise = FrameDecoder(messageBytesMax: 300)
            #expect(bytewise.events(of: bytes, pieces: bytes.map { _ in 1 }) == expected, "\(bytes)")
            var split = FrameDecoder(messageBytesMax: 300)
            var pieces: [Int] = []
            while pieces.reduce(0, +) < bytes.count { pieces.append(dice.within(0...dice.within(0...200))) }
            #expect(split.events(of: bytes, pieces: pieces) == expected, "\(bytes) in \(pieces)")
            #expect(split.isIdle == whole.isIdle && bytewise.isIdle == whole.isIdle)
        }
    }

    @Test(arguments: UInt64(1)...20) func decodesRandomMessages(seed: UInt64) {
        var dice = SplitMix(seed: seed)
        var bytes: [UInt8] = []
        var expected: [DecodedEvent] = []
        for _ in 0..<20 {
            let text = Self.randomText(&dice)
            var rest = text[...]
            var opcode = Client.text
            while dice.chance(percent: 40) {
                let fragment = rest.prefix(dice.within(0...20))
                rest = rest.dropFirst(fragment.count)
                bytes += Client.bytes(opcode, Array(fragment), isFinal: false, key: Self.randomBytes(&dice, count: 4))
                opcode = Client.continuation
                guard dice.chance(percent: 30) else { continue }
                let payload = Self.randomBytes(&dice, count: dice.within(0...125))
                bytes += Client.bytes(Client.ping, payload)
                expected.append(.ping(payload))
            }
            bytes += Client.bytes(opcode, Array(rest), key: Self.randomBytes(&dice, count: 4))
            expected.append(.text(text))
        }
        var decoder = FrameDecoder(messageBytesMax: 1000)
        #expect(decoder.events(of: bytes) == expected)
        #expect(decoder.isIdle)
    }

    /// Frames of all kinds, seldom invalid ones, and at times an incomplete one at the end.
    private static func randomFrames(_ dice: inout SplitMix) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<dice.within(1...12) {
            let isFinal = dice.chance(percent: 70)
            let key = randomBytes(&dice, count: 4)
            switch dice.below(12) {
            case 0...4: bytes += Client.bytes(Client.text, randomText(&dice), isFinal: isFinal, key: key)
            case 5...6: bytes += Client.bytes(Client.continuation, randomText(&dice), isFinal: isFinal, key: key)
            case 7...8: bytes += Client.bytes(Client.ping, randomBytes(&dice, count: dice.within(0...125)), key: key)
            case 9: bytes += Client.bytes(Client.pong, randomBytes(&dice, count: dice.within(0...10)), key: key)
            case 10 where dice.chance(percent: 30): bytes += Client.close(UInt16(dice.within(990...1020)), randomText(&dice))
            case 11 where dice.chance(percent: 30): bytes += randomBytes(&dice, count: dice.within(1...20))
            case 11 where dice.chance(percent: 30): bytes += Client.bytes(Client.binary, [0xFF], isFinal: isFinal, key: key)
            default: break
            }
        }
        return dice.chance(percent: 30) ? Array(bytes.dropLast(dice.within(0...30))) : bytes
    }

    private static func randomText(_ dice: inout SplitMix) -> [UInt8] {
        var text = ""
        for _ in 0..<dice.within(0...40) { text += dice.pick(["a", "{", "é", "€", "😀", "\u{FFFF}", "\u{10FFFF}"]) ?? "" }
        return Array(text.utf8)
    }

    private static func randomBytes(_ dice: inout SplitMix, count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
    }
}
