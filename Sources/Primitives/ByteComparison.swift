import Glibc

// Byte by byte equality with `memcmp`: the standard library's `elementsEqual` compares one byte at a time, and every
// request compares its path, its query and its channels.

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
        text.utf8.withContiguousStorageIfAvailable { hasSameBytes(as: UnsafeRawBufferPointer($0)) } ?? elementsEqual(text.utf8)
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
    /// Whether all bytes of the UTF-8 satisfy a condition. `utf8.allSatisfy` takes several times longer.
    @inlinable package func allBytes(satisfy condition: (UInt8) -> Bool) -> Bool {
        utf8.withContiguousStorageIfAvailable { $0.allSatisfy(condition) } ?? utf8.allSatisfy(condition)
    }

    /// Whether two strings have the same UTF-8. Swift's `==` compares canonical equivalence instead.
    package func hasSameBytes(as other: String) -> Bool {
        utf8.withContiguousStorageIfAvailable { UnsafeRawBufferPointer($0).hasSameBytes(as: other) }
            ?? utf8.elementsEqual(other.utf8)
    }
}
