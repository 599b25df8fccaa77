import Glibc

// Comparisons and searches with `memcmp` and `memchr`: the standard library's `elementsEqual` and `firstIndex(of:)` look
// at one byte at a time, and every request compares its path, its query and its channels.

extension UnsafeRawBufferPointer {
    /// Whether two buffers contain the same bytes.
    @inlinable package func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count, let start = baseAddress, let otherStart = other.baseAddress else {
            return count == other.count
        }
        return memcmp(start, otherStart, count) == 0
    }

    /// Whether the buffer contains the bytes of `text`.
    @inlinable package func hasSameBytes(as text: StaticString) -> Bool {
        hasSameBytes(as: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Whether the buffer contains the UTF-8 of `text`.
    @inlinable package func hasSameBytes(as text: String) -> Bool {
        text.utf8.count == count && text.withBytes { hasSameBytes(as: $0) }
    }

    /// The order of the buffer and another one by their bytes: negative if the buffer comes first, 0 if they are equal.
    @inlinable package func order(to other: UnsafeRawBufferPointer) -> Int {
        guard let start = baseAddress, let otherStart = other.baseAddress else { return count - other.count }
        let order = Int(memcmp(start, otherStart, Swift.min(count, other.count)))
        return order == 0 ? count - other.count : order
    }

    /// Whether the buffer begins with the bytes of `text`.
    @inlinable package func hasPrefix(_ text: StaticString) -> Bool {
        count >= text.utf8CodeUnitCount && self[..<text.utf8CodeUnitCount].hasSameBytes(as: text)
    }

    /// The offset of the first `byte`; nil if there is none.
    @inlinable package func offset(of byte: UInt8) -> Int? {
        guard let baseAddress, let found = memchr(baseAddress, Int32(byte), count) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Whether the slice contains the bytes of `text`.
    @inlinable package func hasSameBytes(as text: StaticString) -> Bool {
        UnsafeRawBufferPointer(rebasing: self).hasSameBytes(as: text)
    }
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
