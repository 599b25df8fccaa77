/// One way of writing each JSON value, so that equal values are equal bytes: members sorted by name, the last of a name,
/// no space, strings escaped alike, numbers by their value rather than their spelling (RFC 8785's aim, on exact decimals).
package enum CanonicalJSON {
    /// - Throws: ``JSONError`` when `bytes` are not one JSON value.
    package static func bytes(of bytes: UnsafeRawBufferPointer) throws -> [UInt8] {
        var json = JSONWriter(capacity: bytes.count)
        try write(try JSONReader.value(bytes), to: &json)
        return json.bytes
    }

    private static func write(_ value: JSONSlice, to json: inout JSONWriter) throws {
        switch value.kind {
        case .object:
            // By bytes: Swift's == on texts takes a Kelvin sign for a K, and so one member for another.
            var members: [[UInt8]: JSONSlice] = [:]
            try JSONReader.object(value.raw) { key, member in members[Array((key.string ?? "").utf8)] = member }
            json.raw("{")
            for (index, member) in members.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }).enumerated() {
                if index > 0 { json.raw(",") }
                json.string(utf8: member.key)
                json.raw(":")
                try write(member.value, to: &json)
            }
            json.raw("}")
        case .array:
            var isFirst = true
            json.raw("[")
            try JSONReader.array(value.raw) { element in
                if !isFirst { json.raw(",") }
                isFirst = false
                try write(element, to: &json)
            }
            json.raw("]")
        case .string: json.string(value.string ?? "")
        case .number: json.raw(number(value.raw))
        case .boolean, .null: json.raw(value.raw)
        }
    }

    /// Digits without zeros at either end, and the power of ten they are to be multiplied by: `-1.50e3` is `-15e2`.
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
        let written = text.dropFirst((isNegative ? 1 : 0) + mantissa.count + 1)
        // An exponent beyond all bounds is left as it is: it is some value, and nobody's size of one.
        guard let exponent = written.isEmpty ? 0 : Int(String(decoding: written, as: UTF8.self)), exponent.magnitude < 1 << 62
        else { return Array(text) }
        let decimals = mantissa.firstIndex(of: UInt8(ascii: ".")).map { mantissa.endIndex - $0 - 1 } ?? 0
        return (isNegative ? Array("-".utf8) : []) + digits + Array("e\(exponent - decimals + zeros)".utf8)
    }
}
