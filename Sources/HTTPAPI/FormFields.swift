import PusherProtocol

/// The fields of an `application/x-www-form-urlencoded` body (the URL standard, section 5.1).
struct FormFields {
    private var fields: [[UInt8]: String] = [:]

    /// - Throws: ``APIError`` with 400 if a percent escape is malformed, or if a name occurs twice.
    init(_ body: UnsafeRawBufferPointer) throws(APIError) {
        for pair in body.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = try Self.decode(parts[0])
            guard fields[name] == nil else { throw APIError(400, "Expected \"\(Self.text(name).clipped)\" at most once") }
            fields[name] = Self.text(parts.count > 1 ? try Self.decode(parts[1]) : [])
        }
    }

    /// The value of a field. Nil if the form does not contain it.
    subscript(name: String) -> String? { fields[Array(name.utf8)] }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func decode(_ bytes: Slice<UnsafeRawBufferPointer>) throws(APIError) -> [UInt8] {
        var decoded: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): decoded.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                    throw APIError(400, "The form contains a malformed percent escape")
                }
                decoded.append(high << 4 | low)
            default: decoded.append(byte)
            }
        }
        return decoded
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
