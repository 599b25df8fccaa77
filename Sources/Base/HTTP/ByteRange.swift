/// A range of offsets into a buffer. Eight bytes, unlike `Range<Int>`, because a request's head has one for each field.
package struct ByteRange: Equatable, Sendable, BitwiseCopyable {
    package let lowerBound: UInt32
    package let upperBound: UInt32

    /// - Parameter range: at most 4 GiB from the start of the buffer.
    package init(_ range: Range<Int>) {
        lowerBound = UInt32(truncatingIfNeeded: range.lowerBound)
        upperBound = UInt32(truncatingIfNeeded: range.upperBound)
    }

    package var count: Int { Int(upperBound - lowerBound) }
    package var isEmpty: Bool { lowerBound == upperBound }
}

extension UnsafeRawBufferPointer {
    /// The bytes of a range, without a copy.
    package subscript(range: ByteRange) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[Int(range.lowerBound)..<Int(range.upperBound)])
    }

    /// Whether the bytes are those of `text`, in any case.
    /// - Parameter text: lower-case letters, digits and `-./:`.
    package func equalsIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        let expected = UnsafeRawBufferPointer(start: text.utf8Start, count: count)
        guard count >= 8 else {
            for index in 0..<count where self[index] | Self.caseBits(expected[index]) != expected[index] { return false }
            return true
        }
        var index = 0
        while index < count {
            // The last eight bytes may overlap those before.
            let start = Swift.min(index, count - 8)
            let word = expected.loadUnaligned(fromByteOffset: start, as: UInt64.self)
            guard loadUnaligned(fromByteOffset: start, as: UInt64.self) | Self.caseBits(word) == word else { return false }
            index += 8
        }
        return true
    }

    /// For each byte the bit in which the two cases of its letter differ. Of the allowed characters only letters have
    /// the bit 0x40.
    @inline(__always)
    private static func caseBits<Word: FixedWidthInteger>(_ word: Word) -> Word {
        (word & Word(truncatingIfNeeded: 0x4040_4040_4040_4040)) >> 1
    }
}
