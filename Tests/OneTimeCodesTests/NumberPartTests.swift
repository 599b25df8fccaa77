import Testing

@testable import Fleet

@Suite struct NumberPartTests {
    /// The table has what the standard library's version of Unicode has.
    @Test func tableAgreesWithUnicode() {
        var wrong: [UInt32] = []
        for value in UInt32(0x80)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            if NumberPart(value) != Self.part(of: scalar) { wrong.append(value) }
        }
        #expect(wrong.isEmpty)
    }

    @Test func asciiAgreesWithUnicode() {
        for byte in UInt8(0)..<0x80 {
            let isHyphen = byte == UInt8(ascii: "-")
            let expected: NumberPart = isHyphen ? .separator : Self.part(of: Unicode.Scalar(byte))
            #expect(NumberPart(ascii: byte) == expected)
        }
    }

    private static func part(of scalar: Unicode.Scalar) -> NumberPart {
        let properties = scalar.properties
        switch properties.generalCategory {
        case .spaceSeparator, .lineSeparator, .paragraphSeparator, .dashPunctuation, .format: return .separator
        case .control: return properties.isWhitespace ? .separator : .other
        case .decimalNumber, .otherNumber:
            guard [.decimal, .digit].contains(properties.numericType), let value = properties.numericValue else { return .other }
            return .digit(UInt8(value))
        default: return .other
        }
    }
}
