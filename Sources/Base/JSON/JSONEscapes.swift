/// Decodes the escapes of JSON strings, which ``JSONReader`` has validated.
package enum JSONEscapes {
    /// The most bytes that JSON needs for a byte of text: `\u0001`.
    private static let expansionMax = 6

    /// The byte that a backslash and `byte` represent. Nil for `u` and for unknown escapes.
    static func simple(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): byte
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// Whether a backslash and `byte` are an escape of two bytes.
    @inline(__always)
    static func isSimple(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            true
        default: false
        }
    }

    /// The value of a hexadecimal digit (0–15). Nil for other bytes.
    static func hex(_ byte: UInt8) -> UInt16? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    /// The content of a string with its escapes decoded. A lone surrogate becomes U+FFFD.
    static func decode(_ content: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: decodedCount(of: content)) { text in
            var (index, count) = (0, 0)
            let room = UnsafeMutableRawBufferPointer(text)
            while index < content.count {
                if content[index] == UInt8(ascii: "\\") {
                    let scalar = scalar(in: content, at: &index)
                    count += write(scalar, to: text, at: count)
                } else if index &+ 8 <= content.count, count &+ 8 <= room.count {
                    // Copies eight bytes; those from a backslash on are overwritten later.
                    let word = content.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                    room.storeBytes(of: word, toByteOffset: count, as: UInt64.self)
                    let marks = backslashes(in: UInt64(littleEndian: word))
                    let plain = marks == 0 ? 8 : marks.trailingZeroBitCount >> 3
                    (index, count) = (index &+ plain, count &+ plain)
                } else {
                    text[count] = content[index]
                    (index, count) = (index &+ 1, count &+ 1)
                }
            }
            return count
        }
    }

    /// The bytes of valid JSON, or of a string's content, if its escapes are counted as the UTF-8 of what they represent.
    package static func decodedCount(of json: UnsafeRawBufferPointer) -> Int {
        var count = json.count
        var index = 0
        while let start = backslash(in: json, from: index) {
            index = start
            while index < json.count, json[index] == UInt8(ascii: "\\") {
                let start = index
                let length = length(scalar(in: json, at: &index))
                count -= index - start - length
            }
        }
        return count
    }

    /// Where the shortest beginning of a string's content ends whose text exceeds `bytesMax` bytes. The content's end if
    /// its text is not that long.
    static func end(of content: UnsafeRawBufferPointer, above bytesMax: Int) -> Int {
        var (index, count) = (0, 0)
        while index < content.count, count <= bytesMax {
            if content[index] == UInt8(ascii: "\\") {
                count += length(scalar(in: content, at: &index))
            } else {
                repeat { (index, count) = (index + 1, count + 1) } while index < content.count && content[index] & 0xC0 == 0x80
            }
        }
        return index
    }

    /// Whether the text of a string's content is `text`. It stops at the first difference, and allocates nothing.
    static func decodes(_ content: UnsafeRawBufferPointer, to text: UnsafeRawBufferPointer) -> Bool {
        guard content.count <= expansionMax * text.count, !text.isEmpty else { return content.isEmpty && text.isEmpty }
        var (index, count) = (0, 0)
        while index < content.count {
            let byte = content[index]
            if byte == UInt8(ascii: "\\") {
                let scalar = scalar(in: content, at: &index)
                guard count < text.count, scalar >= 0x80 || text[count] == UInt8(truncatingIfNeeded: scalar) else { return false }
                let end = count + length(scalar)
                guard end <= text.count else { return false }
                while count < end {
                    guard text[count] == Self.byte(of: scalar, end - count - 1, of: length(scalar)) else { return false }
                    count += 1
                }
            } else {
                guard count < text.count, text[count] == byte else { return false }
                (index, count) = (index + 1, count + 1)
            }
        }
        return count == text.count
    }

    // MARK: One escape

    /// The scalar of the escape at `index`, which moves behind it. Two `\u` escapes of a surrogate pair are one escape.
    @inline(__always)
    private static func scalar(in json: UnsafeRawBufferPointer, at index: inout Int) -> UInt32 {
        guard json[index + 1] == UInt8(ascii: "u") else {
            defer { index += 2 }
            return UInt32(simple(json[index + 1]) ?? 0)
        }
        let unit = unit(in: json, at: index)
        index += 6
        guard unit & 0xF800 == 0xD800 else { return unit }
        guard unit < 0xDC00, index + 5 < json.count, json[index] == UInt8(ascii: "\\"), json[index + 1] == UInt8(ascii: "u"),
            case let low = Self.unit(in: json, at: index), low & 0xFC00 == 0xDC00
        else { return 0xFFFD }
        index += 6
        return 0x10000 + ((unit & 0x3FF) << 10 | low & 0x3FF)
    }

    /// The UTF-16 unit of the `\u` escape at `index`.
    @inline(__always)
    private static func unit(in json: UnsafeRawBufferPointer, at index: Int) -> UInt32 {
        var unit: UInt32 = 0
        for offset in 2..<6 {
            let byte = UInt32(json[index + offset])
            // The digits are 0x30 to 0x39, the letters 0x41 to 0x46 and 0x61 to 0x66.
            unit = unit << 4 | (byte & 0xF) &+ (byte >> 6) &* 9
        }
        return unit
    }

    /// The bytes of a scalar in UTF-8.
    @inline(__always)
    private static func length(_ scalar: UInt32) -> Int {
        scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4
    }

    /// A byte of a scalar's UTF-8.
    /// - Parameters:
    ///   - place: counted from the last byte, which is 0.
    ///   - length: of the scalar.
    @inline(__always)
    private static func byte(of scalar: UInt32, _ place: Int, of length: Int) -> UInt8 {
        guard length > 1 else { return UInt8(scalar) }
        let bits = UInt8(truncatingIfNeeded: scalar >> UInt32(6 * place))
        guard place == length - 1 else { return bits & 0x3F | 0x80 }
        return bits | (length == 2 ? 0xC0 : length == 3 ? 0xE0 : 0xF0)
    }

    /// - Returns: the number of bytes written.
    @inline(__always)
    private static func write(_ scalar: UInt32, to text: UnsafeMutableBufferPointer<UInt8>, at start: Int) -> Int {
        let length = length(scalar)
        for place in 0..<length { text[start + length - 1 - place] = byte(of: scalar, place, of: length) }
        return length
    }

    /// A bit for the lowest of eight bytes that is a backslash; 0 if there is none. Bits above the lowest mean nothing.
    @inline(__always)
    private static func backslashes(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let difference = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        return (difference &- ones) & ~difference & (ones &* 0x80)
    }

    /// The index of the first backslash; nil if there is none. Looks at eight bytes at a time.
    @inline(__always)
    private static func backslash(in json: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var index = start
        while index &+ 8 <= json.count {
            let marks = backslashes(in: UInt64(littleEndian: json.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
            if marks != 0 { return index &+ marks.trailingZeroBitCount >> 3 }
            index &+= 8
        }
        while index < json.count {
            if json[index] == UInt8(ascii: "\\") { return index }
            index &+= 1
        }
        return nil
    }
}
