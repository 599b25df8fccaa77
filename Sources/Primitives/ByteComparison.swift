import Glibc

// Equality of bytes with `memcmp`: the standard library's `elementsEqual` compares one byte at a time, and every request
// compares its path, its query and its channels.

extension UnsafeRawBufferPointer {
    /// Whether two buffers contain the same bytes.
    package func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count, let start = baseAddress, let otherStart = other.baseAddress else {
            return count == other.count
        }
        return memcmp(start, otherStart, count) == 0
    }

    /// Whether the buffer contains the bytes of `text`.
    package func hasSameBytes(as text: StaticString) -> Bool {
        hasSameBytes(as: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Whether the buffer contains the UTF-8 of `text`.
    package func hasSameBytes(as text: String) -> Bool {
        text.withBytes { hasSameBytes(as: $0) }
    }

    /// Whether the buffer begins with the bytes of `text`.
    package func hasPrefix(_ text: StaticString) -> Bool {
        count >= text.utf8CodeUnitCount && self[..<text.utf8CodeUnitCount].hasSameBytes(as: text)
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Whether the slice contains the bytes of `text`.
    package func hasSameBytes(as text: StaticString) -> Bool { UnsafeRawBufferPointer(rebasing: self).hasSameBytes(as: text) }
}

extension String {
    /// Calls `use` with the UTF-8, without copying it. Reading `utf8` byte by byte takes several times longer.
    @inlinable package func withBytes<Result>(_ use: (UnsafeRawBufferPointer) -> Result) -> Result {
        var text = self  // `withUTF8` requires a variable: it would convert a string that is not UTF-8
        return text.withUTF8 { use(UnsafeRawBufferPointer($0)) }
    }

    /// Whether two strings have the same UTF-8. Swift's `==` compares canonical equivalence instead.
    package func hasSameBytes(as other: String) -> Bool {
        withBytes { $0.hasSameBytes(as: other) }
    }
}
