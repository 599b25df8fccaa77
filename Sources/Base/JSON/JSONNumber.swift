import Primitives

/// A JSON number, kept as written: it is sent exactly as it was received.
package struct JSONNumber: Equatable, Sendable {
    /// A valid JSON number.
    package let text: String

    package init(text: String) { self.text = text }

    /// Whether the number fits into a double. If one did not, apps' decoders would reject the whole event.
    package var isFinite: Bool { text.withBytes(Self.isSmall) || Double(text)?.isFinite == true }

    /// Whether a number is below 10^308, as its digits and its exponent show: so most numbers need not be converted.
    private static func isSmall(_ number: UnsafeRawBufferPointer) -> Bool {
        guard let end = number.firstIndex(where: { $0 | 0x20 == UInt8(ascii: "e") }) else { return number.count <= 308 }
        guard number.count - end <= 5 else { return false }
        var exponent = 0
        for byte in number[(end + 1)...] where byte >= UInt8(ascii: "0") {
            exponent = exponent * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return end + exponent <= 308
    }

    /// The first number, at any depth, that does not fit into a double. Nil if there is none.
    /// - Parameter json: valid JSON.
    package static func firstInfinite(in json: UnsafeRawBufferPointer) -> JSONNumber? {
        var rest = json[...]
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "\""): rest = rest.dropFirst(stringLength(rest))
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let digits = rest.prefix { isPart($0) }
                guard !isSmall(UnsafeRawBufferPointer(rebasing: digits)) else {
                    rest = rest[digits.endIndex...]
                    continue
                }
                let number = JSONNumber(text: String(decoding: digits, as: UTF8.self))
                guard number.isFinite else { return number }
                rest = rest[digits.endIndex...]
            default: rest = rest.dropFirst()
            }
        }
        return nil
    }

    /// The bytes of the string with which valid JSON begins, with both quotes.
    private static func stringLength(_ json: Slice<UnsafeRawBufferPointer>) -> Int {
        var index = json.startIndex + 1
        while json[index] != UInt8(ascii: "\"") { index += json[index] == UInt8(ascii: "\\") ? 2 : 1 }
        return index + 1 - json.startIndex
    }

    private static func isPart(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."): true
        default: byte | 0x20 == UInt8(ascii: "e")
        }
    }
}
