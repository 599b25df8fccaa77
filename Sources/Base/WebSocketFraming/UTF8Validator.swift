/// Checks that bytes are well-formed UTF-8 (RFC 3629; The Unicode Standard, table 3-7). The bytes may come in pieces,
/// split anywhere.
package struct UTF8Validator {
    /// The continuation bytes that the current character still needs: 0–3.
    private var missing: UInt8 = 0
    /// The range of the next continuation byte. It is narrower after some first bytes, which excludes overlong forms,
    /// surrogates, and values above U+10FFFF.
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    package init() {}

    /// Whether the bytes so far end with a whole character.
    package var isComplete: Bool { missing == 0 }

    /// Checks the next piece.
    /// - Returns: false if a byte is invalid, whatever may follow. The validator must not be used any more then.
    package mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard var next = bytes.baseAddress else { return true }
        let end = next + bytes.count
        while next < end {
            if missing == 0, end - next >= 8, case let word = UInt64(littleEndian: next.loadUnaligned(as: UInt64.self)),
                word & 0x80 == 0
            {
                // What stands before a character that is not ASCII is short mostly, or very long.
                let others = word & 0x8080_8080_8080_8080
                next = others == 0 ? Self.endOfASCII(from: next + 8, to: end) : next + others.trailingZeroBitCount >> 3
                guard next < end else { break }
            }
            let byte = next.load(as: UInt8.self)
            if missing == 0, byte >= 0x80, end - next >= 4 {
                // Text that is not ASCII consists of such characters mostly, one after another.
                guard let count = Self.length(ofCharacterAt: next) else { return false }
                next += count
            } else if missing > 0 {
                guard resume(with: byte) else { return false }
                next += 1
            } else if byte < 0x80 {
                next = Self.endOfASCII(from: next, to: end)
            } else {
                guard begin(with: byte) else { return false }
                next += 1
            }
        }
        return true
    }

    /// The length of a character of two to four bytes; nil if it is malformed.
    /// - Parameter start: the address of at least four bytes.
    @inline(__always)
    private static func length(ofCharacterAt start: UnsafeRawPointer) -> Int? {
        let lead = start.load(as: UInt8.self)
        let second = start.load(fromByteOffset: 1, as: UInt8.self)
        guard second & 0xC0 == 0x80 else { return nil }
        if lead < 0xE0 { return lead >= 0xC2 ? 2 : nil }
        guard start.load(fromByteOffset: 2, as: UInt8.self) & 0xC0 == 0x80 else { return nil }
        if lead < 0xF0 { return lead == 0xE0 && second < 0xA0 || lead == 0xED && second >= 0xA0 ? nil : 3 }
        guard start.load(fromByteOffset: 3, as: UInt8.self) & 0xC0 == 0x80 else { return nil }
        return lead > 0xF4 || lead == 0xF0 && second < 0x90 || lead == 0xF4 && second >= 0x90 ? nil : 4
    }

    /// The address of the first byte that is not ASCII; `end` if there is none.
    private static func endOfASCII(from start: UnsafeRawPointer, to end: UnsafeRawPointer) -> UnsafeRawPointer {
        let highBits: UInt64 = 0x8080_8080_8080_8080
        var next = start
        while end - next >= 32 {
            let words = next.loadUnaligned(as: SIMD4<UInt64>.self)
            guard (words[0] | words[1] | words[2] | words[3]) & highBits == 0 else { break }
            next += 32
        }
        while end - next >= 8, next.loadUnaligned(as: UInt64.self) & highBits == 0 { next += 8 }
        while next < end, next.load(as: UInt8.self) < 0x80 { next += 1 }
        return next
    }

    /// Takes the first byte of a character that is not ASCII.
    private mutating func begin(with byte: UInt8) -> Bool {
        switch byte {
        case 0xC2...0xDF: missing = 1
        case 0xE0: (missing, lowest) = (2, 0xA0)
        case 0xED: (missing, highest) = (2, 0x9F)
        case 0xE1...0xEF: missing = 2
        case 0xF0: (missing, lowest) = (3, 0x90)
        case 0xF1...0xF3: missing = 3
        case 0xF4: (missing, highest) = (3, 0x8F)
        default: return false
        }
        return true
    }

    /// Takes a continuation byte.
    private mutating func resume(with byte: UInt8) -> Bool {
        guard byte >= lowest, byte <= highest else { return false }
        (lowest, highest) = (0x80, 0xBF)
        missing &-= 1
        return true
    }
}
