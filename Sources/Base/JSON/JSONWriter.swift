/// Appends JSON to bytes.
///
/// There are two ways to write structure: with `object`, `array` and `member` (see JSONWriter+Builder.swift), or as
/// literal text with `raw`, which the frames of the wire protocol use.
package struct JSONWriter {
    /// The JSON written so far.
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 128) { bytes.reserveCapacity(capacity) }

    /// Appends JSON unchanged: punctuation, literals, or a value that another writer wrote. It is not validated.
    package mutating func raw(_ json: StaticString) { json.withUTF8Buffer { bytes.append(contentsOf: $0) } }

    @inline(__always)
    mutating func raw(byte: Unicode.Scalar) { bytes.append(UInt8(ascii: byte)) }

    /// Removes the last bytes, which the caller has copied to write them in another order.
    mutating func removeLast(_ count: Int) { bytes.removeLast(count) }

    package mutating func raw(_ json: [UInt8]) { bytes.append(contentsOf: json) }

    package mutating func raw(_ json: UnsafeRawBufferPointer) { bytes.append(contentsOf: json) }

    package mutating func raw(_ json: String.UTF8View) { bytes.append(contentsOf: json) }

    @inlinable package mutating func integer(_ value: some BinaryInteger) {
        if value < 0 { raw("-") }
        bytes.appendDecimal(UInt64(value.magnitude))
    }

    /// Appends a string in quotes. Escapes only what RFC 8259 section 7 requires.
    package mutating func string(_ text: String) {
        var text = text
        text.withUTF8 { string(utf8: UnsafeRawBufferPointer($0)) }
    }

    /// Appends a string in quotes, like ``string(_:)``. The text is in UTF-8.
    package mutating func string(utf8 text: [UInt8]) { text.withUnsafeBytes { string(utf8: $0) } }

    /// Appends a string, or null if `text` is nil.
    package mutating func optional(_ text: String?) {
        if let text { string(text) } else { raw("null") }
    }

    // Not generic over sequences, because the compiler would not specialise it for callers in other modules.
    package mutating func string(utf8 text: UnsafeRawBufferPointer) {
        bytes.append(UInt8(ascii: "\""))
        // Most texts need no escape. The others often need one every few bytes, because they are JSON themselves.
        let end = text.firstIndex(where: Self.needsEscape) ?? text.count
        bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[..<end]))
        if end < text.count { escape(UnsafeRawBufferPointer(rebasing: text[end...])) }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends a part of a string. A buffer on the stack gathers what is appended with one call.
    private mutating func escape(_ text: UnsafeRawBufferPointer) {
        let longestEscape = 6
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1_024) { buffer in
            var count = 0
            for byte in text {
                if count > buffer.count - longestEscape {
                    bytes.append(contentsOf: buffer[..<count])
                    count = 0
                }
                guard Self.needsEscape(byte) else {
                    buffer[count] = byte
                    count += 1
                    continue
                }
                count += Self.escape(byte, into: UnsafeMutableBufferPointer(rebasing: buffer[count...]))
            }
            bytes.append(contentsOf: buffer[..<count])
        }
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// - Returns: the number of bytes written, at most 6.
    private static func escape(_ byte: UInt8, into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        buffer[0] = UInt8(ascii: "\\")
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): buffer[1] = byte
        case 0x0A: buffer[1] = UInt8(ascii: "n")
        case 0x0D: buffer[1] = UInt8(ascii: "r")
        case 0x09: buffer[1] = UInt8(ascii: "t")
        default:
            (buffer[1], buffer[2], buffer[3]) = (UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0"))
            (buffer[4], buffer[5]) = (hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)])
            return 6
        }
        return 2
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)
}
