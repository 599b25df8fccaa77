import Crypto
import Testing

@Suite struct HexadecimalTests {
    private func number(_ text: [UInt8]) -> UInt128? { text.withUnsafeBytes { Hexadecimal.number($0) } }

    @Test func readsDigitsOfEitherCase() {
        let expected: UInt128 = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210
        #expect(number(Array("0123456789abcdeffedcba9876543210".utf8)) == expected)
        #expect(number(Array("0123456789ABCDEFFEDCBA9876543210".utf8)) == expected)
    }

    @Test func readsEveryDigitAndRejectsEveryOtherByteAtEachPosition() {
        for position in 0..<32 {
            for byte in UInt8.min...UInt8.max {
                var text = [UInt8](repeating: UInt8(ascii: "0"), count: 32)
                text[position] = byte
                let value = Character(Unicode.Scalar(byte)).isASCII ? Character(Unicode.Scalar(byte)).hexDigitValue : nil
                #expect(number(text) == value.map { UInt128($0) << (4 * (31 - position)) }, "\(byte) at \(position)")
            }
        }
    }

    @Test func rejectsOtherLengths() {
        #expect(number([UInt8](repeating: UInt8(ascii: "0"), count: 31)) == nil)
        #expect(number([UInt8](repeating: UInt8(ascii: "0"), count: 33)) == nil)
        #expect(number([]) == nil)
    }
}
