import Primitives

/// A validated JSON value: its kind and a slice of the text, without copying.
///
/// Borrows the text that it was read from and must not outlive it.
package struct JSONSlice {
    package enum Kind: Equatable, Sendable { case string, number, object, array, boolean, null }

    package let kind: Kind
    /// The bytes as written, including a string's quotes.
    package let raw: UnsafeRawBufferPointer
    /// Whether this is a string that contains escapes.
    let escaped: Bool

    init(kind: Kind, raw: UnsafeRawBufferPointer, escaped: Bool) {
        self.kind = kind
        self.raw = raw
        self.escaped = escaped
    }

    /// The bytes between a string's quotes, still escaped. Nil for other kinds.
    package var stringContent: UnsafeRawBufferPointer? { kind == .string ? content : nil }

    /// A string's text. A lone surrogate, which JSON's grammar allows, becomes U+FFFD. Nil for other kinds.
    package var string: String? {
        guard let content = stringContent else { return nil }
        return escaped ? JSONEscapes.decode(content) : String(decoding: content, as: UTF8.self)
    }

    /// Calls `use` with a string's text, which is copied only if it has escapes.
    package func withText(_ use: (UnsafeRawBufferPointer) -> Void) {
        guard let content = stringContent else { return }
        if escaped { JSONEscapes.decode(content).withBytes(use) } else { use(content) }
    }

    /// A string's text, or only its beginning if the text is longer than a limit: so much that it exceeds the limit, too.
    /// So a later check of the length has the same result, but a long text is neither copied nor decoded before it. Nil
    /// for other kinds.
    /// - Parameter bytesMax: the limit in bytes of UTF-8.
    package func string(cutAbove bytesMax: Int) -> String? {
        guard let content = stringContent else { return nil }
        guard content.count > bytesMax else { return string }
        let start = UnsafeRawBufferPointer(rebasing: content[..<JSONEscapes.end(of: content, above: bytesMax)])
        return escaped ? JSONEscapes.decode(start) : String(decoding: start, as: UTF8.self)
    }

    /// The number of UTF-8 bytes in a string's text, after decoding escapes. Nil for other kinds.
    package var stringByteCount: Int? {
        guard let content = stringContent else { return nil }
        return escaped ? JSONEscapes.decodedCount(of: content) : content.count
    }

    /// Whether a string's text has at most `bytesMax` bytes of UTF-8. Nil for other kinds.
    package func hasText(upTo bytesMax: Int) -> Bool? {
        guard let content = stringContent else { return nil }
        // Decoding only shortens, so the escapes of what is short enough as written need not be read.
        return content.count <= bytesMax || escaped && JSONEscapes.decodedCount(of: content) <= bytesMax
    }

    /// A boolean's value. Nil for other kinds.
    package var boolean: Bool? { kind == .boolean ? raw.first == UInt8(ascii: "t") : nil }

    /// The value of a number that is written as an integer. Nil for a number with a fraction or exponent, on overflow,
    /// and for other kinds.
    package var integer: Int? {
        // JSON has no leading zeros, so more than a sign and 19 digits overflow.
        kind == .number && raw.count <= 20 ? Int(String(decoding: raw, as: UTF8.self)) : nil
    }

    /// Whether this is the string `text`, with or without escapes. Allocates nothing.
    package func equals(_ text: StaticString) -> Bool {
        // Compares bytes: Swift's == compares strings by canonical equivalence, so the Kelvin sign would equal K.
        equals(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Whether this is the string `text`, like ``equals(_:)``. With a label, because Swift prefers `String` for a literal.
    package func equals(text: String) -> Bool { text.withBytes { equals($0) } }

    private func equals(_ text: UnsafeRawBufferPointer) -> Bool {
        guard kind == .string else { return false }
        guard escaped else { return raw.count - 2 == text.count && content.hasSameBytes(as: text) }
        // No letter or digit has an escape of two bytes. Most names begin with one.
        if raw[1] == UInt8(ascii: "\\"), raw[2] != UInt8(ascii: "u"), let first = text.first, first >= UInt8(ascii: "0"),
            first != UInt8(ascii: "\\")
        {
            return false
        }
        return JSONEscapes.decodes(content, to: text)
    }

    private var content: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: raw[1..<(raw.count - 1)]) }
}
