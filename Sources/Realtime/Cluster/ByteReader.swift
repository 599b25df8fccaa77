/// Reads the parts of a message. After a read beyond the end, ``isValid`` is false and all reads return nothing.
package struct ByteReader {
    private var bytes: ArraySlice<UInt8>
    /// Whether there was something to read so far.
    package private(set) var isValid = true

    /// Begins at the first byte.
    package init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// Whether everything was read, and nothing beyond.
    package var isAtEnd: Bool { isValid && bytes.isEmpty }

    /// The next byte.
    package mutating func byte() -> UInt8 { take(1).first ?? 0 }

    /// A number that ``ByteWriter`` has written.
    package mutating func int64() -> UInt64 { take(8).reduce(0) { $0 << 8 | UInt64($1) } }

    /// A number of connections or users. Larger ones are malformed, so that sums cannot overflow.
    package mutating func count() -> Int {
        let count = int64()
        guard count <= UInt32.max else {
            isValid = false
            return 0
        }
        return Int(count)
    }

    /// A text that ``ByteWriter/append(text:)`` has written.
    package mutating func text() -> String { String(decoding: block(), as: UTF8.self) }

    /// A text that ``ByteWriter/append(optional:)`` has written.
    package mutating func optionalText() -> String? { byte() == 1 ? text() : nil }

    /// Bytes that ``ByteWriter/append(block:)`` has written.
    package mutating func block() -> ArraySlice<UInt8> {
        let count = take(4).reduce(0) { $0 << 8 | Int($1) }
        return take(count)
    }

    /// All elements until the end.
    package mutating func list<Element>(_ read: (inout ByteReader) -> Element) -> [Element] {
        var elements: [Element] = []
        while isValid, !isAtEnd {
            let element = read(&self)
            if isValid { elements.append(element) }
        }
        return elements
    }

    /// What is left.
    package mutating func rest() -> ArraySlice<UInt8> { take(bytes.count) }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        guard isValid, count <= bytes.count else {
            isValid = false
            return []
        }
        defer { bytes = bytes.dropFirst(count) }
        return bytes.prefix(count)
    }
}

/// Appends the parts of a message: numbers in network byte order, texts and blocks with their length in four bytes.
package struct ByteWriter {
    /// What was appended.
    package private(set) var bytes: [UInt8] = []

    /// - Parameter capacity: the number of bytes for which memory is reserved.
    package init(capacity: Int) { bytes.reserveCapacity(capacity) }

    /// Appends a byte.
    package mutating func append(_ byte: UInt8) { bytes.append(byte) }

    /// Appends a number in eight bytes.
    package mutating func append(_ number: UInt64) { withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) } }

    /// Appends a text and the number of its bytes.
    package mutating func append(text: String) { append(block: Array(text.utf8)) }

    /// Appends a text, or that there is none.
    package mutating func append(optional text: String?) {
        append(UInt8(text == nil ? 0 : 1))
        if let text { append(text: text) }
    }

    /// Appends bytes and their number.
    package mutating func append(block: some Collection<UInt8>) {
        withUnsafeBytes(of: UInt32(block.count).bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: block)
    }

    /// Appends what `body` writes as a block.
    package mutating func appendBlock(_ body: (inout ByteWriter) -> Void) {
        let start = bytes.count
        bytes.append(contentsOf: [0, 0, 0, 0])
        body(&self)
        withUnsafeBytes(of: UInt32(bytes.count - start - 4).bigEndian) { length in
            for (offset, byte) in length.enumerated() { bytes[start + offset] = byte }
        }
    }

    /// Appends bytes that end the message, or its part.
    package mutating func append(rest: some Collection<UInt8>) { bytes.append(contentsOf: rest) }
}
