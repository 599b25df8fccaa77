/// What a character is in a number that a person may have written.
///
/// A table, because the standard library's properties cost hundreds of instructions for each character. A test compares it
/// with them: if a newer Unicode has more digits, it fails.
enum NumberPart: Equatable {
    /// A decimal digit of any script, or one with a circle or the like: full-width digits are digits, too.
    case digit(UInt8)
    /// White space, a dash, or a character that is not seen, such as a zero-width space.
    case separator
    case other

    @inline(__always)
    init(ascii byte: UInt8) {
        switch byte {
        case 0x30...0x39: self = .digit(byte - 0x30)
        case 0x09...0x0D, 0x20, 0x2D: self = .separator
        default: self = .other
        }
    }

    /// - Parameter scalar: the value of one that is not ASCII.
    init(_ scalar: UInt32) {
        self = Self.table.withUnsafeBufferPointer { table in
            var (low, high) = (0, table.count)
            while low < high {
                let middle = (low + high) / 2
                if table[middle].last < scalar { low = middle + 1 } else { high = middle }
            }
            guard low < table.count, case let found = table[low], found.first <= scalar else { return .other }
            return found.digit.map { .digit($0 + UInt8(truncatingIfNeeded: scalar - found.first)) } ?? .separator
        }
    }

    /// Characters with values that follow each other.
    private struct Run {
        let first: UInt32
        let last: UInt32
        /// The value of the first one. Nil: they are separators.
        let digit: UInt8?
    }

    /// In their order.
    private static let table: [Run] =
        (separators.map { Run(first: $0, last: $1, digit: nil) } + tens.map { Run(first: $0, last: $0 + 9, digit: 0) }
        + digits.map { Run(first: $0, last: $1, digit: $2) }).sorted { $0.first < $1.first }

    /// The first and the last of each run. Unicode's categories Zs, Zl, Zp, Pd and Cf, and a control character.
    private static let separators: [(UInt32, UInt32)] = [
        (0x85, 0x85), (0xA0, 0xA0), (0xAD, 0xAD), (0x58A, 0x58A), (0x5BE, 0x5BE), (0x600, 0x605), (0x61C, 0x61C),
        (0x6DD, 0x6DD), (0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2), (0x1400, 0x1400), (0x1680, 0x1680), (0x1806, 0x1806),
        (0x180E, 0x180E), (0x2000, 0x2015), (0x2028, 0x202F), (0x205F, 0x2064), (0x2066, 0x206F), (0x2E17, 0x2E17),
        (0x2E1A, 0x2E1A), (0x2E3A, 0x2E3B), (0x2E40, 0x2E40), (0x2E5D, 0x2E5D), (0x3000, 0x3000), (0x301C, 0x301C),
        (0x3030, 0x3030), (0x30A0, 0x30A0), (0xFE31, 0xFE32), (0xFE58, 0xFE58), (0xFE63, 0xFE63), (0xFEFF, 0xFEFF),
        (0xFF0D, 0xFF0D), (0xFFF9, 0xFFFB), (0x10D6E, 0x10D6E), (0x10EAD, 0x10EAD), (0x110BD, 0x110BD), (0x110CD, 0x110CD),
        (0x13430, 0x1343F), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0001, 0xE0001), (0xE0020, 0xE007F),
    ]

    /// The zeros of ten digits each.
    private static let tens: [UInt32] = [
        0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0, 0xF20, 0x1040,
        0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0x2080, 0xA620, 0xA8D0, 0xA900,
        0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x10D30, 0x10D40, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450,
        0x114D0, 0x11650, 0x116C0, 0x116D0, 0x116DA, 0x11730, 0x118E0, 0x11950, 0x11BF0, 0x11C50, 0x11D50, 0x11DA0, 0x11DE0,
        0x11F50, 0x16130, 0x16A60, 0x16AC0, 0x16B50, 0x16D70, 0x1CCF0, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140,
        0x1E2F0, 0x1E4F0, 0x1E5F1, 0x1E950, 0x1F101, 0x1FBF0,
    ]

    /// The first and the last of each run of other digits, and the value of the first.
    private static let digits: [(UInt32, UInt32, UInt8)] = [
        (0xB2, 0xB3, 2), (0xB9, 0xB9, 1), (0x1369, 0x1371, 1), (0x19DA, 0x19DA, 1), (0x2070, 0x2070, 0), (0x2074, 0x2079, 4),
        (0x2460, 0x2468, 1), (0x2474, 0x247C, 1), (0x2488, 0x2490, 1), (0x24EA, 0x24EA, 0), (0x24F5, 0x24FD, 1),
        (0x24FF, 0x24FF, 0), (0x2776, 0x277E, 1), (0x2780, 0x2788, 1), (0x278A, 0x2792, 1), (0x10A40, 0x10A43, 1),
        (0x10E60, 0x10E68, 1), (0x11052, 0x1105A, 1), (0x1F100, 0x1F100, 0),
    ]
}
