/// Appends JSON to bytes. The caller writes the structure as literal text; this writes what needs escaping.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 128) { bytes.reserveCapacity(capacity) }

    /// JSON that is right as it stands: punctuation, literals, a value another writer made.
    package mutating func raw(_ json: StaticString) { json.withUTF8Buffer { bytes.append(contentsOf: $0) } }

    package mutating func raw(_ json: some Sequence<UInt8>) { bytes.append(contentsOf: json) }

    package mutating func integer(_ value: some BinaryInteger) { bytes.append(contentsOf: String(value).utf8) }

    /// A string with its quotes, escaped as RFC 8259 section 7 demands and no further.
    package mutating func string(_ text: some StringProtocol) { string(utf8: text.utf8) }

    /// The same for text that is at hand as UTF-8.
    package mutating func string(utf8 text: some Sequence<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0x0A: raw(#"\n"#)
            case 0x0D: raw(#"\r"#)
            case 0x09: raw(#"\t"#)
            case 0..<0x20:
                raw(#"\u00"#)
                bytes.append(Self.hexDigits[Int(byte >> 4)])
                bytes.append(Self.hexDigits[Int(byte & 15)])
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)
}
