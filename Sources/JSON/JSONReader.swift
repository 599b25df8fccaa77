/// The reason why a text is not the expected JSON, and its position.
package struct JSONError: Error, Equatable {
    /// The problem, worded so that it can follow "invalid JSON: ".
    package let problem: String
    /// The position of the problem, in bytes from the start of the text.
    package let offset: Int
}

/// A validated JSON value: its kind and a slice of the text, without copying.
///
/// Borrows the text that it was read from and must not outlive it.
package struct JSONSlice {
    package enum Kind: Equatable, Sendable { case string, number, object, array, boolean, null }

    package let kind: Kind
    /// The bytes as written, including a string's quotes.
    package let raw: UnsafeRawBufferPointer
    /// Whether this is a string that contains escapes.
    fileprivate let escaped: Bool

    /// The bytes between a string's quotes, still escaped. Nil for other kinds.
    package var stringContent: UnsafeRawBufferPointer? {
        kind == .string ? UnsafeRawBufferPointer(rebasing: raw[1..<(raw.count - 1)]) : nil
    }

    /// A string's text. A lone surrogate, which JSON's grammar allows, becomes U+FFFD. Nil for other kinds.
    package var string: String? {
        guard let content = stringContent else { return nil }
        return escaped ? JSONEscapes.decode(content) : String(decoding: content, as: UTF8.self)
    }

    /// The number of UTF-8 bytes in a string's text, after decoding escapes. Nil for other kinds.
    package var stringByteCount: Int? {
        guard let content = stringContent else { return nil }
        return escaped ? JSONEscapes.decode(content).utf8.count : content.count
    }

    /// A boolean's value. Nil for other kinds.
    package var boolean: Bool? { kind == .boolean ? raw.first == UInt8(ascii: "t") : nil }

    /// The value of a number that is written as an integer. Nil for a number with a fraction or exponent, on overflow,
    /// and for other kinds.
    package var integer: Int? { kind == .number ? Int(String(decoding: raw, as: UTF8.self)) : nil }

    /// Whether this is the string `text`, with or without escapes.
    package func equals(_ text: StaticString) -> Bool {
        guard let content = stringContent else { return false }
        // Compares bytes: Swift's == compares strings by canonical equivalence, so the Kelvin sign would equal K.
        if escaped { return JSONEscapes.decode(content).utf8.elementsEqual(text.description.utf8) }
        return content.hasSameBytes(as: text)
    }
}

/// Parses JSON (RFC 8259) without copying: one pass that validates everything, including UTF-8, and yields slices. It
/// builds no tree: a message of the Pusher protocol has only three members, and the largest, the data, is copied
/// verbatim into a frame.
package struct JSONReader {
    /// The maximum number of nested objects and arrays. The limit keeps hostile input from exhausting the stack.
    package static let depthMax = 64

    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Parses a text that must be one object. Calls `member` for each member, in the order written.
    /// - Throws: ``JSONError`` if the text is not JSON or not an object; rethrows errors of `member`.
    package static func object(
        _ bytes: UnsafeRawBufferPointer, _ member: (_ key: JSONSlice, _ value: JSONSlice) throws -> Void
    ) throws {
        var reader = JSONReader(bytes)
        reader.skipSpace()
        guard reader.peek == UInt8(ascii: "{") else { throw reader.error("expected an object") }
        try reader.members(depth: 1, member)
        try reader.end()
    }

    /// Parses a text that must be one array. Calls `element` for each element, in order.
    /// - Throws: ``JSONError`` if the text is not JSON or not an array; rethrows errors of `element`.
    package static func array(_ bytes: UnsafeRawBufferPointer, _ element: (JSONSlice) throws -> Void) throws {
        var reader = JSONReader(bytes)
        reader.skipSpace()
        guard reader.peek == UInt8(ascii: "[") else { throw reader.error("expected an array") }
        try reader.elements(depth: 1, element)
        try reader.end()
    }

    /// Parses a text that must be one value of any kind.
    /// - Throws: ``JSONError``.
    package static func value(_ bytes: UnsafeRawBufferPointer) throws -> JSONSlice {
        var reader = JSONReader(bytes)
        reader.skipSpace()
        let value = try reader.value(depth: 0)
        try reader.end()
        return value
    }

    // MARK: The grammar

    private mutating func value(depth: Int) throws -> JSONSlice {
        let start = position
        var escaped = false
        let kind: JSONSlice.Kind
        switch peek {
        case UInt8(ascii: "\""):
            escaped = try string()
            kind = .string
        case UInt8(ascii: "{"):
            try members(depth: depth + 1) { _, _ in }
            kind = .object
        case UInt8(ascii: "["):
            try elements(depth: depth + 1) { _ in }
            kind = .array
        case UInt8(ascii: "t"):
            try literal("true")
            kind = .boolean
        case UInt8(ascii: "f"):
            try literal("false")
            kind = .boolean
        case UInt8(ascii: "n"):
            try literal("null")
            kind = .null
        default:
            try number()
            kind = .number
        }
        return JSONSlice(kind: kind, raw: slice(from: start), escaped: escaped)
    }

    private mutating func members(depth: Int, _ member: (JSONSlice, JSONSlice) throws -> Void) throws {
        try enter(depth)  // {
        skipSpace()
        if accept("}") { return }
        repeat {
            skipSpace()
            let start = position
            guard peek == UInt8(ascii: "\"") else { throw error("expected a member's name") }
            let escaped = try string()
            let key = JSONSlice(kind: .string, raw: slice(from: start), escaped: escaped)
            skipSpace()
            guard accept(":") else { throw error("expected ':'") }
            skipSpace()
            try member(key, value(depth: depth))
            skipSpace()
        } while accept(",")
        guard accept("}") else { throw error("expected ',' or '}'") }
    }

    private mutating func elements(depth: Int, _ element: (JSONSlice) throws -> Void) throws {
        try enter(depth)  // [
        skipSpace()
        if accept("]") { return }
        repeat {
            skipSpace()
            try element(value(depth: depth))
            skipSpace()
        } while accept(",")
        guard accept("]") else { throw error("expected ',' or ']'") }
    }

    private mutating func enter(_ depth: Int) throws {
        guard depth <= Self.depthMax else { throw error("nested deeper than \(Self.depthMax) levels") }
        position += 1
    }

    /// Skips a string. Returns whether it contains escapes.
    private mutating func string() throws -> Bool {
        position += 1  // "
        var escaped = false
        while true {
            skipPlainText()
            switch peek {
            case UInt8(ascii: "\""):
                position += 1
                return escaped
            case UInt8(ascii: "\\"):
                escaped = true
                try escape()
            case .some(let byte) where byte >= 0x80:
                try multibyteScalar()
            case .some(let byte) where byte < 0x20:
                throw error("control character in a string")
            case .some:
                position += 1
            case nil:
                throw error("unterminated string")
            }
        }
    }

    /// Skips plain bytes, eight at a time: neither a quote, a backslash, a control character nor part of a multibyte
    /// scalar. A string consists mostly of plain bytes. The last seven bytes of the text are left to the caller.
    private mutating func skipPlainText() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        while position &+ 8 <= bytes.count {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            // (x - ones) & ~x & highs marks the zero bytes of x. Here the x are `quote` and `backslash`, whose bytes
            // are zero where the text has a quote or a backslash. With 0x20 instead of 1, the formula marks control
            // characters; `word & highs` marks multibyte scalars. A borrow may also mark the byte above, which does no
            // harm: only the lowest mark counts.
            let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
            let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
            let special =
                ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
                | ((word &- (ones &* 0x20)) & ~word) | word
            guard special & highs == 0 else {
                position &+= (special & highs).trailingZeroBitCount >> 3
                return
            }
            position &+= 8
        }
    }

    private mutating func escape() throws {
        position += 1  // backslash
        switch peek {
        case .some(let byte) where JSONEscapes.simple(byte) != nil:
            position += 1
        case UInt8(ascii: "u"):
            position += 1
            for _ in 0..<4 {
                guard let byte = peek, JSONEscapes.hex(byte) != nil else { throw error("expected four hex digits") }
                position += 1
            }
        default:
            throw error("unknown escape")
        }
    }

    /// Skips one scalar of two to four bytes. Accepts what Unicode's table 3-7 allows: no overlong form, no surrogate,
    /// and no value above U+10FFFF.
    private mutating func multibyteScalar() throws {
        let lead = bytes[position]
        let (count, second): (Int, ClosedRange<UInt8>)
        switch lead {
        case 0xC2...0xDF: (count, second) = (2, 0x80...0xBF)
        case 0xE0: (count, second) = (3, 0xA0...0xBF)
        case 0xED: (count, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (count, second) = (3, 0x80...0xBF)
        case 0xF0: (count, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (count, second) = (4, 0x80...0xBF)
        case 0xF4: (count, second) = (4, 0x80...0x8F)
        default: throw error("invalid UTF-8")
        }
        guard position + count <= bytes.count, second.contains(bytes[position + 1]) else { throw error("invalid UTF-8") }
        for offset in 2..<max(count, 2) where bytes[position + offset] & 0xC0 != 0x80 { throw error("invalid UTF-8") }
        position += count
    }

    private mutating func number() throws {
        let start = position
        _ = accept("-")
        if !accept("0") { guard digits() else { throw error("expected a value", at: start) } }
        if accept(".") { guard digits() else { throw error("expected digits after '.'") } }
        if accept("e") || accept("E") {
            if !accept("+") { _ = accept("-") }
            guard digits() else { throw error("expected digits in the exponent") }
        }
    }

    private mutating func digits() -> Bool {
        let start = position
        while let byte = peek, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
        return position > start
    }

    private mutating func literal(_ text: StaticString) throws {
        let end = position + text.utf8CodeUnitCount
        guard end <= bytes.count, text.withUTF8Buffer({ bytes[position..<end].elementsEqual($0) }) else {
            throw error("expected a value")
        }
        position = end
    }

    // MARK: The bytes

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func slice(from start: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[start..<position])
    }

    private mutating func accept(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func end() throws {
        skipSpace()
        guard position == bytes.count else { throw error("unexpected text after the value") }
    }

    private func error(_ problem: String, at offset: Int? = nil) -> JSONError {
        JSONError(problem: problem, offset: offset ?? position)
    }
}

/// Decodes the escapes of JSON strings.
enum JSONEscapes {
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

    /// The value of a hexadecimal digit (0–15). Nil for other bytes.
    static func hex(_ byte: UInt8) -> UInt16? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    /// Decodes the content of a string, which ``JSONReader`` has validated.
    static func decode(_ content: UnsafeRawBufferPointer) -> String {
        var units: [UInt16] = []  // UTF-16 units of consecutive \u escapes: two of them may encode one scalar.
        var text = ""
        var plain = 0
        var index = 0
        while index < content.count {
            guard content[index] == UInt8(ascii: "\\") else {
                index += 1
                continue
            }
            text += String(decoding: content[plain..<index], as: UTF8.self)
            if content[index + 1] == UInt8(ascii: "u") {
                units.removeAll(keepingCapacity: true)
                while index + 5 < content.count, content[index] == UInt8(ascii: "\\"), content[index + 1] == UInt8(ascii: "u") {
                    units.append(content[(index + 2)..<(index + 6)].reduce(0) { $0 << 4 | (hex($1) ?? 0) })
                    index += 6
                }
                text += String(decoding: units, as: UTF16.self)
            } else {
                text.unicodeScalars.append(Unicode.Scalar(simple(content[index + 1]) ?? 0))
                index += 2
            }
            plain = index
        }
        return text + String(decoding: content[plain..<content.count], as: UTF8.self)
    }
}
