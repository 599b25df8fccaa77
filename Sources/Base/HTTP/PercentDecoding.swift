import Primitives

/// Percent-decoding (RFC 3986 section 2.1) of bytes whose escapes the parser has checked.
@usableFromInline package enum PercentDecoding {
    /// How a target's path and query differ.
    package enum Component {
        case path
        /// A `+` is a space, as in an HTML form: some Pusher libraries encode queries in this way.
        case query
    }

    /// The decoded text. Bytes that are not UTF-8 become U+FFFD.
    package static func text(_ bytes: UnsafeRawBufferPointer, _ component: Component) -> String {
        guard isEncoded(bytes, component) else { return String(decoding: bytes, as: UTF8.self) }
        return withDecoded(bytes, component) { String(decoding: $0, as: UTF8.self) }
    }

    /// The decoded bytes, which need not be UTF-8.
    package static func bytes(_ bytes: UnsafeRawBufferPointer, _ component: Component) -> [UInt8] {
        withDecoded(bytes, component) { Array($0) }
    }

    /// Whether the decoded bytes are UTF-8.
    package static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
        withDecoded(bytes, .path) { String(validating: $0, as: UTF8.self) != nil }
    }

    /// Calls `use` with the decoded bytes, in one piece: the standard library reads a sequence many times slower.
    private static func withDecoded<Result>(
        _ bytes: UnsafeRawBufferPointer, _ component: Component, _ use: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(1, bytes.count)) { decoded in
            var (index, count) = (0, 0)
            while index < bytes.count {
                var byte = bytes[index]
                if byte == UInt8(ascii: "%"), let value = escape(bytes, at: index) {
                    byte = value
                    index += 3
                } else {
                    if byte == UInt8(ascii: "+"), component == .query { byte = UInt8(ascii: " ") }
                    index += 1
                }
                decoded[count] = byte
                count += 1
            }
            return use(UnsafeBufferPointer(rebasing: decoded[..<count]))
        }
    }

    /// Whether the decoded bytes are those of `text`. Allocates nothing.
    package static func equals(_ bytes: UnsafeRawBufferPointer, _ text: String, _ component: Component) -> Bool {
        guard isEncoded(bytes, component) else {
            return bytes.hasSameBytes(as: text)
        }
        return DecodedBytes(bytes: bytes, component: component).elementsEqual(text.utf8)
    }

    /// Whether the decoded bytes of a path are those of `text`, which is ASCII without `%`. Allocates nothing.
    package static func equals(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
        if bytes.hasSameBytes(as: text) { return true }
        guard isEncoded(bytes, .path) else { return false }
        return text.withUTF8Buffer { DecodedBytes(bytes: bytes, component: .path).elementsEqual($0) }
    }

    /// Whether decoding changes the bytes.
    private static func isEncoded(_ bytes: UnsafeRawBufferPointer, _ component: Component) -> Bool {
        bytes.offset(of: UInt8(ascii: "%")) != nil || component == .query && bytes.offset(of: UInt8(ascii: "+")) != nil
    }

    /// The value of the escape `%XX` at `index`. Nil if it is incomplete or has other digits.
    @inlinable package static func escape(_ bytes: UnsafeRawBufferPointer, at index: Int) -> UInt8? {
        guard index + 2 < bytes.count, let high = digit(bytes[index + 1]), let low = digit(bytes[index + 2]) else { return nil }
        return high << 4 | low
    }

    /// The value of a hexadecimal digit.
    @inlinable package static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}

/// The decoded bytes, computed while they are read.
private struct DecodedBytes: Sequence, IteratorProtocol {
    let bytes: UnsafeRawBufferPointer
    let component: PercentDecoding.Component
    private var index = 0

    init(bytes: UnsafeRawBufferPointer, component: PercentDecoding.Component) {
        self.bytes = bytes
        self.component = component
    }

    @inline(__always)
    mutating func next() -> UInt8? {
        guard index < bytes.count else { return nil }
        let byte = bytes[index]
        if byte == UInt8(ascii: "%"), let value = PercentDecoding.escape(bytes, at: index) {
            index += 3
            return value
        }
        index += 1
        return byte == UInt8(ascii: "+") && component == .query ? UInt8(ascii: " ") : byte
    }
}
