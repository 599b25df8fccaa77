import Primitives

/// The reason why a text is not the expected JSON, and its position.
package struct JSONError: Error, Equatable {
    /// The problem, worded so that it can follow "invalid JSON: ".
    package let problem: String
    /// The position of the problem, in bytes from the start of the text.
    package let offset: Int
}

/// A part of a JSON text, in the order written.
package enum JSONToken {
    case objectStart, objectEnd, arrayStart, arrayEnd
    /// The name of a member, whose value follows.
    case name(JSONSlice)
    /// A value that is neither an object nor an array.
    case scalar(JSONSlice)
}

/// Parses JSON (RFC 8259) without copying: one pass that validates everything, including UTF-8, and yields slices. It
/// builds no tree: a message of the Pusher protocol has only three members, and the largest, the data, is copied
/// verbatim into a frame.
package struct JSONReader {
    /// The maximum number of nested objects and arrays. The limit keeps hostile input from exhausting the stack.
    package static let depthMax = 64

    private let start: UnsafeRawPointer
    private let end: UnsafeRawPointer
    /// The address of the next byte. Addresses cost half of what indices and optional bytes do.
    private var next: UnsafeRawPointer

    private init(_ bytes: UnsafeRawBufferPointer) {
        let empty = UnsafeRawPointer(bitPattern: 1)!
        start = bytes.baseAddress ?? empty
        end = start + bytes.count
        next = start
        // A byte order mark is ignored (RFC 8259 section 8.1): some encoders write one, such as those of .NET.
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { next += 3 }
    }

    /// Parses a text that must be one object. Calls `member` for each member, in the order written.
    /// - Throws: ``JSONError`` if the text is not JSON or not an object; rethrows errors of `member`.
    package static func object(
        _ bytes: UnsafeRawBufferPointer, _ member: (_ key: JSONSlice, _ value: JSONSlice) throws -> Void
    ) throws {
        var reader = JSONReader(bytes)
        reader.skipSpace()
        guard reader.peek == UInt8(ascii: "{") else { throw reader.error("expected an object") }
        try reader.members(depth: 1, member)
        try reader.finish()
    }

    /// Parses a text that must be one array. Calls `element` for each element, in order.
    /// - Throws: ``JSONError`` if the text is not JSON or not an array; rethrows errors of `element`.
    package static func array(_ bytes: UnsafeRawBufferPointer, _ element: (JSONSlice) throws -> Void) throws {
        var reader = JSONReader(bytes)
        reader.skipSpace()
        guard reader.peek == UInt8(ascii: "[") else { throw reader.error("expected an array") }
        try reader.elements(depth: 1, element)
        try reader.finish()
    }

    /// Parses a text that must be one value of any kind.
    /// - Throws: ``JSONError``.
    package static func value(_ bytes: UnsafeRawBufferPointer) throws -> JSONSlice {
        var reader = JSONReader(bytes)
        reader.skipSpace()
        let value = try reader.value(depth: 0)
        try reader.finish()
        return value
    }

    /// Parses a text that must be one value of any kind. Calls `token` for each of its parts, at any depth: so each byte is
    /// read once, however deep it is nested.
    /// - Throws: ``JSONError``; rethrows errors of `token`.
    package static func tokens(_ bytes: UnsafeRawBufferPointer, _ token: (JSONToken) throws -> Void) throws {
        var reader = JSONReader(bytes)
        reader.skipSpace()
        try reader.walk(depth: 1, token)
        try reader.finish()
    }

    // MARK: The grammar

    private mutating func value(depth: Int) throws(JSONError) -> JSONSlice {
        let first = next
        switch peek {
        case UInt8(ascii: "{"):
            try skipContainer(depth: depth + 1)
            return JSONSlice(kind: .object, raw: slice(from: first), escaped: false)
        case UInt8(ascii: "["):
            try skipContainer(depth: depth + 1)
            return JSONSlice(kind: .array, raw: slice(from: first), escaped: false)
        default: return try scalar()
        }
    }

    /// A value that is neither an object nor an array.
    @inline(__always)
    private mutating func scalar() throws(JSONError) -> JSONSlice {
        let first = next
        var escaped = false
        let kind: JSONSlice.Kind
        switch peek {
        case UInt8(ascii: "\""):
            escaped = try string()
            kind = .string
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
        return JSONSlice(kind: kind, raw: slice(from: first), escaped: escaped)
    }

    /// Skips an object or array with all that it contains.
    private mutating func skipContainer(depth: Int) throws(JSONError) {
        do {
            try walk(depth: depth) { _ in }
        } catch {
            throw error as? JSONError ?? self.error("\(error)")
        }
    }

    /// Reads a value with all that it contains, in one loop: a recursion would cost more than the brackets of a text that
    /// consists of them.
    @inline(__always)
    private mutating func walk(depth: Int, _ token: (JSONToken) throws -> Void) throws {
        // One bit for each open container, the innermost lowest: whether it is an object.
        var objects: UInt64 = 0
        var open = 0
        repeat {
            var isComplete = true
            switch peek {
            case UInt8(ascii: "{"):
                try enter(depth + open)
                (open, objects) = (open + 1, objects << 1 | 1)
                try token(.objectStart)
                skipSpace()
                isComplete = peek == UInt8(ascii: "}")
                if !isComplete { try token(.name(name())) }
            case UInt8(ascii: "["):
                try enter(depth + open)
                (open, objects) = (open + 1, objects << 1)
                try token(.arrayStart)
                skipSpace()
                isComplete = peek == UInt8(ascii: "]")
            default: try token(.scalar(scalar()))
            }
            while isComplete, open > 0 {
                skipSpace()
                let isObject = objects & 1 == 1
                if accept(",") {
                    skipSpace()
                    if isObject { try token(.name(name())) }
                    isComplete = false
                } else {
                    guard isObject ? accept("}") : accept("]") else {
                        throw error(isObject ? "expected ',' or '}'" : "expected ',' or ']'")
                    }
                    (open, objects) = (open - 1, objects >> 1)
                    try token(isObject ? .objectEnd : .arrayEnd)
                }
            }
        } while open > 0
    }

    private mutating func members(depth: Int, _ member: (JSONSlice, JSONSlice) throws -> Void) throws {
        try enter(depth)  // {
        skipSpace()
        if accept("}") { return }
        repeat {
            skipSpace()
            let key = try name()
            try member(key, value(depth: depth))
            skipSpace()
        } while accept(",")
        guard accept("}") else { throw error("expected ',' or '}'") }
    }

    /// A member's name, and the colon and the white space behind it, which it skips.
    @inline(__always)
    private mutating func name() throws(JSONError) -> JSONSlice {
        let first = next
        guard peek == UInt8(ascii: "\"") else { throw error("expected a member's name") }
        let escaped = try string()
        let key = JSONSlice(kind: .string, raw: slice(from: first), escaped: escaped)
        skipSpace()
        guard accept(":") else { throw error("expected ':'") }
        skipSpace()
        return key
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

    @inline(__always)
    private mutating func enter(_ depth: Int) throws(JSONError) {
        guard depth <= Self.depthMax else { throw error("nested deeper than \(Self.depthMax) levels") }
        next += 1
    }

    /// Skips a string. Returns whether it contains escapes.
    private mutating func string() throws(JSONError) -> Bool {
        next += 1  // "
        var escaped = false
        while true {
            skipPlainText()
            // Looks for plain text again only after a plain byte: in a text of escapes there is none.
            while true {
                let byte = peek
                if byte == UInt8(ascii: "\"") {
                    next += 1
                    return escaped
                } else if byte == UInt8(ascii: "\\") {
                    escaped = true
                    try escape()
                } else if byte >= 0x80 {
                    try multibyteScalar(byte)
                } else if byte < 0x20 {
                    throw error(next == end ? "unterminated string" : "control character in a string")
                } else {
                    next += 1
                    break
                }
            }
        }
    }

    /// Skips plain bytes, eight at a time: neither a quote, a backslash, a control character nor part of a multibyte
    /// scalar. A string consists mostly of plain bytes. The last seven bytes of the text are left to the caller.
    @inline(__always)
    private mutating func skipPlainText() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        while end - next >= 8 {
            let word = UInt64(littleEndian: next.loadUnaligned(as: UInt64.self))
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
                next += (special & highs).trailingZeroBitCount >> 3
                return
            }
            next += 8
        }
    }

    @inline(__always)
    private mutating func escape() throws(JSONError) {
        next += 1  // backslash
        let byte = peek
        if JSONEscapes.isSimple(byte) {
            next += 1
        } else if byte == UInt8(ascii: "u") {
            next += 1
            for _ in 0..<4 {
                guard JSONEscapes.hex(peek) != nil else { throw error("expected four hex digits") }
                next += 1
            }
        } else {
            throw error("unknown escape")
        }
    }

    /// Skips one scalar of two to four bytes. Accepts what Unicode's table 3-7 allows: no overlong form, no surrogate,
    /// and no value above U+10FFFF.
    @inline(__always)
    private mutating func multibyteScalar(_ lead: UInt8) throws(JSONError) {
        let count = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
        guard lead >= 0xC2, lead <= 0xF4, count <= end - next else { throw error("invalid UTF-8") }
        let second = next.load(fromByteOffset: 1, as: UInt8.self)
        var isValid = second & 0xC0 == 0x80
        if count > 2 {
            isValid = isValid && next.load(fromByteOffset: 2, as: UInt8.self) & 0xC0 == 0x80
            if count > 3 { isValid = isValid && next.load(fromByteOffset: 3, as: UInt8.self) & 0xC0 == 0x80 }
            // After these four, the second byte has a narrower range.
            switch lead {
            case 0xE0: isValid = isValid && second >= 0xA0
            case 0xED: isValid = isValid && second < 0xA0
            case 0xF0: isValid = isValid && second >= 0x90
            case 0xF4: isValid = isValid && second < 0x90
            default: break
            }
        }
        guard isValid else { throw error("invalid UTF-8") }
        next += count
    }

    @inline(__always)
    private mutating func number() throws(JSONError) {
        let first = next
        if peek == UInt8(ascii: "-") { next += 1 }
        if peek == UInt8(ascii: "0") {
            next += 1
        } else {
            guard digits() else { throw error("expected a value", at: first) }
        }
        // Most numbers end here.
        guard peek == UInt8(ascii: ".") || peek | 0x20 == UInt8(ascii: "e") else { return }
        if accept(".") { guard digits() else { throw error("expected digits after '.'") } }
        if accept("e") || accept("E") {
            if !accept("+") { _ = accept("-") }
            guard digits() else { throw error("expected digits in the exponent") }
        }
    }

    @inline(__always)
    private mutating func digits() -> Bool {
        let first = next
        while peek &- UInt8(ascii: "0") < 10 { next += 1 }
        return next > first
    }

    private mutating func literal(_ text: StaticString) throws(JSONError) {
        guard UnsafeRawBufferPointer(start: next, count: end - next).hasPrefix(text) else { throw error("expected a value") }
        next += text.utf8CodeUnitCount
    }

    // MARK: The bytes

    /// The next byte; 0, which no JSON contains, at the end.
    @inline(__always)
    private var peek: UInt8 { next < end ? next.load(as: UInt8.self) : 0 }

    @inline(__always)
    private func slice(from first: UnsafeRawPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: first, count: next - first)
    }

    @inline(__always)
    private mutating func accept(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        next += 1
        return true
    }

    @inline(__always)
    private mutating func skipSpace() {
        while case let byte = peek, byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { next += 1 }
    }

    private mutating func finish() throws(JSONError) {
        skipSpace()
        guard next == end else { throw error("unexpected text after the value") }
    }

    private func error(_ problem: String, at place: UnsafeRawPointer? = nil) -> JSONError {
        JSONError(problem: problem, offset: (place ?? next) - start)
    }
}
