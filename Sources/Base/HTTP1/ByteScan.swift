/// Searches and character classes of RFC 9110. The searches look at eight bytes at a time.
enum ByteScan {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// The index of the first control character other than the tab in a range; nil if there is none.
    @inline(__always)
    static func firstControl(in bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int? {
        var index = range.lowerBound
        while index < range.upperBound {
            if index + 8 <= range.upperBound {
                let word = word(bytes, index)
                // Below 0x20 the subtraction sets the highest bit, at 0x7F the addition.
                let controls = ((word &- ones &* 0x20) | (word &+ ones)) & ~word & highBits
                guard controls != 0 else {
                    index += 8
                    continue
                }
                // Behind such a byte a borrow or carry may set the bit of another one, but never before it.
                index += controls.trailingZeroBitCount / 8
            }
            if !isFieldByte(bytes[index]) { return index }
            index += 1
        }
        return nil
    }

    /// The index of the first byte in a range that is not visible ASCII, or that structures a target: # % ?. It may be
    /// another byte, such as ! or one of the last seven, so the caller looks at it. Nil if there is no such byte.
    /// - Parameter bytes: contain no control character other than the tab.
    @inline(__always)
    static func firstSpecialTargetByte(in bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int? {
        var index = range.lowerBound
        while index + 8 <= range.upperBound {
            let word = word(bytes, index)
            let invisible = (word &- ones &* 0x21) | word
            // # and % differ from ' only in the bits 0x06. The subtraction sets the highest bit of a zero byte.
            let escapes = ((word | ones &* 0x06) ^ ones &* 0x27) &- ones
            let questionMarks = (word ^ ones &* 0x3F) &- ones
            let special = (invisible | escapes | questionMarks) & highBits
            if special != 0 { return index + special.trailingZeroBitCount / 8 }
            index += 8
        }
        return index < range.upperBound ? index : nil
    }

    /// The index of the first byte that is not part of a token (see ``isTokenByte(_:)``); the end of the range if all
    /// are.
    @inline(__always)
    static func tokenEnd(in bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int {
        var index = range.lowerBound
        while index < range.upperBound {
            if index + 8 <= range.upperBound {
                // Most names consist of letters and hyphens.
                let word = word(bytes, index)
                let lowered = word | ones &* 0x20
                let letters = (lowered &+ ones &* (0x80 - 0x61)) & ~(lowered &+ ones &* (0x80 - 0x7B))
                let others = word ^ ones &* 0x2D
                let hyphens = ~((others & ~highBits &+ ~highBits) | others)
                let end = ~(letters | hyphens) & highBits | word & highBits
                guard end != 0 else {
                    index += 8
                    continue
                }
                // A carry out of a byte that is not ASCII changes only bytes behind it.
                index += end.trailingZeroBitCount / 8
            }
            if !isTokenByte(bytes[index]) { return index }
            index += 1
        }
        return index
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }

    /// Whether a byte may be in a field's value: visible ASCII, space, tab, or not ASCII.
    static func isFieldByte(_ byte: UInt8) -> Bool { byte >= 0x20 ? byte != 0x7F : byte == 0x09 }

    /// Whether a byte may be in a token, such as a method or a field's name (RFC 9110 section 5.6.2): a letter, a
    /// digit, or one of ``! # $ % & ' * + - . ^ _ ` | ~``.
    @inline(__always)
    static func isTokenByte(_ byte: UInt8) -> Bool {
        isMember(byte, low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE)
    }

    /// Whether a byte may be in the host and port of a URI (RFC 3986 section 3.2, without user information): a letter,
    /// a digit, or one of `- . _ ~ % ! $ & ' ( ) * + , ; = : [ ]`.
    @inline(__always)
    static func isHostByte(_ byte: UInt8) -> Bool {
        isMember(byte, low: 0x2FFF_7FF2_0000_0000, high: 0x47FF_FFFE_AFFF_FFFE)
    }

    /// Whether the bit of an ASCII byte is set: in `low` for the first 64 characters, in `high` for the others.
    @inline(__always)
    private static func isMember(_ byte: UInt8, low: UInt64, high: UInt64) -> Bool {
        byte < 128 && ((byte < 64 ? low : high) &>> UInt64(byte)) & 1 == 1
    }
}
