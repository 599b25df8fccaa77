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
        var start = 0
        // Copies runs of bytes that need no escape with one call each: most texts are a single run.
        for index in text.indices where Self.needsEscape(text[index]) {
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[start..<index]))
            escape(text[index])
            start = index + 1
        }
        bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[start...]))
        bytes.append(UInt8(ascii: "\""))
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case 0x0A: raw(#"\n"#)
        case 0x0D: raw(#"\r"#)
        case 0x09: raw(#"\t"#)
        default:
            raw(#"\u00"#)
            bytes.append(Self.hexDigits[Int(byte >> 4)])
            bytes.append(Self.hexDigits[Int(byte & 15)])
        }
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)
}
