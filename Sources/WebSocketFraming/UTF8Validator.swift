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
        var index = 0
        while true {
            if missing == 0 { index = Self.endOfASCII(in: bytes, from: index) }
            guard index < bytes.count else { return true }
            guard missing == 0 ? begin(with: bytes[index]) : resume(with: bytes[index]) else { return false }
            index &+= 1
        }
    }

    /// The offset of the first byte at or after `start` that is not ASCII; `bytes.count` if there is none.
    private static func endOfASCII(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        let highBits: UInt64 = 0x8080_8080_8080_8080
        var index = start
        while index &+ 32 <= bytes.count {
            let first = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let second = bytes.loadUnaligned(fromByteOffset: index &+ 8, as: UInt64.self)
            let third = bytes.loadUnaligned(fromByteOffset: index &+ 16, as: UInt64.self)
            let fourth = bytes.loadUnaligned(fromByteOffset: index &+ 24, as: UInt64.self)
            guard (first | second | third | fourth) & highBits == 0 else { break }
            index &+= 32
        }
        while index &+ 8 <= bytes.count, bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & highBits == 0 {
            index &+= 8
        }
        while index < bytes.count, bytes[index] < 0x80 { index &+= 1 }
        return index
    }

    /// Takes the first byte of a character.
    private mutating func begin(with byte: UInt8) -> Bool {
        switch byte {
        case 0x00...0x7F: break
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
