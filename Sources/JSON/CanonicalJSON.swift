/// A canonical form of JSON: equal values have equal bytes. Members are sorted by name; of members with the same name,
/// the last is kept. There is no white space; equal strings have the same escapes, and equal numbers the same digits.
/// The form resembles that of RFC 8785, but its numbers are exact decimals instead of doubles.
package enum CanonicalJSON {
    /// The canonical form of a JSON text.
    /// - Throws: ``JSONError`` if `bytes` are not one JSON value.
    package static func bytes(of bytes: UnsafeRawBufferPointer) throws -> [UInt8] {
        var json = JSONWriter(capacity: bytes.count)
        try write(try JSONReader.value(bytes), to: &json)
        return json.bytes
    }

    private static func write(_ value: JSONSlice, to json: inout JSONWriter) throws {
        switch value.kind {
        case .object:
            // Keys are bytes: Swift's == compares strings by canonical equivalence, so the Kelvin sign would equal K.
            var members: [[UInt8]: JSONSlice] = [:]
            try JSONReader.object(value.raw) { key, member in members[Array((key.string ?? "").utf8)] = member }
            try json.object {
                for member in members.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                    $0.separate()
                    $0.string(utf8: member.key)
                    $0.raw(":")
                    try write(member.value, to: &$0)
                }
            }
        case .array:
            try json.array { json in
                try JSONReader.array(value.raw) { element in
                    json.element()
                    try write(element, to: &json)
                }
            }
        case .string: json.string(value.string ?? "")
        case .number: json.raw(number(value.raw))
        case .boolean, .null: json.raw(value.raw)
        }
    }

    /// The canonical form of a number: digits without leading or trailing zeros, and a power of ten. `-1.50e3` becomes
    /// `-15e2`, and every zero becomes `0`.
    private static func number(_ text: UnsafeRawBufferPointer) -> [UInt8] {
        let isNegative = text.first == UInt8(ascii: "-")
        let mantissa = text.dropFirst(isNegative ? 1 : 0).prefix { $0 | 0x20 != UInt8(ascii: "e") }
        var digits = mantissa.filter { $0 != UInt8(ascii: ".") }
        var zeros = 0
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            zeros += 1
        }
        digits = Array(digits.drop { $0 == UInt8(ascii: "0") })
        guard !digits.isEmpty else { return Array("0".utf8) }
        let exponentText = text.dropFirst((isNegative ? 1 : 0) + mantissa.count + 1)
        // A number whose exponent does not fit into 62 bits stays as written, so that the sum below cannot overflow.
        // Then equal numbers may differ, but no real request contains such a number.
        guard let exponent = exponentText.isEmpty ? 0 : Int(String(decoding: exponentText, as: UTF8.self)),
            exponent.magnitude < 1 << 62
        else { return Array(text) }
        let decimals = mantissa.firstIndex(of: UInt8(ascii: ".")).map { mantissa.endIndex - $0 - 1 } ?? 0
        return (isNegative ? Array("-".utf8) : []) + digits + Array("e\(exponent - decimals + zeros)".utf8)
    }
}
