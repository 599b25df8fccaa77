import TestSupport
import Testing
import WebSocketFraming

@Suite struct UTF8ValidatorTests {
    /// How many bytes the validator accepts when they come one by one, and whether they end with a whole character.
    private func accepted(_ bytes: [UInt8]) -> (count: Int, isComplete: Bool) {
        var validator = UTF8Validator()
        for (index, byte) in bytes.enumerated() {
            let isAccepted = withUnsafeBytes(of: byte) { validator.accept($0) }
            if !isAccepted { return (index, false) }
        }
        return (bytes.count, validator.isComplete)
    }

    private func isValid(_ bytes: [UInt8]) -> Bool {
        var validator = UTF8Validator()
        return bytes.withUnsafeBytes { validator.accept($0) } && validator.isComplete
    }

    /// Invalid sequences, and how many of their bytes could begin a valid one.
    @Test(
        arguments: [
            ([0x80], 0), ([0xBF], 0), ([0xC0, 0xAF], 0), ([0xC1, 0xBF], 0), ([0xF5, 0x80, 0x80, 0x80], 0), ([0xFE], 0),
            ([0xFF], 0),
            ([0xC2, 0x41], 1), ([0xC3, 0xC3], 1), ([0xDF, 0x7F], 1), ([0xE0, 0x9F, 0xBF], 1), ([0xED, 0xA0, 0x80], 1),
            ([0xED, 0xBF, 0xBF], 1), ([0xE1, 0x80, 0x41], 2), ([0xEF, 0xBF, 0xC0], 2), ([0xF0, 0x8F, 0xBF, 0xBF], 1),
            ([0xF4, 0x90, 0x80, 0x80], 1), ([0xF1, 0x80, 0x80, 0x00], 3), ([0xF3, 0xBF, 0x7F], 2),
        ] as [([UInt8], Int)]) func rejectsTheFirstInvalidByte(sequence: [UInt8], validCount: Int)
    {
        #expect(accepted(sequence) == (validCount, false))
        // A character before it must not widen or narrow what is accepted.
        for prefix in ["a", "é", "ࠀ", "퟿", "𐀀", "\u{10FFFF}"] {
            let bytes = Array(prefix.utf8) + sequence
            #expect(accepted(bytes) == (bytes.count - sequence.count + validCount, false))
            #expect(!isValid(bytes))
        }
    }

    @Test(
        arguments: [
            0x00, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xCFFF, 0xD000, 0xD7FF, 0xE000, 0xFFFE, 0xFFFF, 0x10000, 0x3FFFF,
            0x40000, 0xFFFFF, 0x100000, 0x10FFFF,
        ] as [UInt32]) func acceptsTheBoundsOfEachRange(value: UInt32) throws
    {
        let character = Array(String(Character(try #require(Unicode.Scalar(value)))).utf8)
        #expect(isValid(character) && accepted(character) == (character.count, true))
        for end in 1..<max(character.count, 1) {
            #expect(accepted(Array(character[..<end])) == (end, false))
            #expect(!isValid(Array(character[..<end])))
        }
    }

    @Test func findsAnInvalidByteAtEveryOffset() {
        for length in 1...80 {
            for offset in 0..<length {
                var bytes = Array(repeating: UInt8(ascii: "a"), count: length)
                #expect(isValid(bytes))
                bytes[offset] = 0x80
                #expect(!isValid(bytes))
            }
        }
    }

    @Test func agreesWithTheStandardLibrary() {
        let bytes: [UInt8] = [
            0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF,
            0xF0,
            0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
        ]
        var dice = SplitMix(seed: 7)
        for _ in 0..<20_000 {
            let text = (0..<dice.within(1...6)).map { _ in bytes[dice.below(bytes.count)] }
            #expect(isValid(text) == (String(validating: text, as: UTF8.self) != nil), "\(text)")
            let (count, isComplete) = accepted(text)
            #expect((count == text.count && isComplete) == isValid(text), "\(text)")
        }
    }
}
