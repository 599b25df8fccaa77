import HTTP

/// Removes the framing of a chunked body (RFC 9112 section 7.1), in place. The body may arrive in any pieces.
package struct ChunkedDecoder {
    /// The maximum size of all chunk extensions of a body together, and of its trailer section, in bytes. Both are
    /// discarded.
    package static let discardedBytesMax = 4_096

    package enum Result: Equatable {
        /// The body goes on. The caller keeps its first ``ChunkedDecoder/bodyCount`` bytes and appends what arrives.
        case incomplete
        /// The body is the first ``ChunkedDecoder/bodyCount`` bytes. The next request begins at `end`.
        case complete(end: Int)
        /// The connection must close after the response.
        case invalid(RequestError)
    }

    /// The size of the body so far, in bytes.
    package private(set) var bodyCount = 0
    private let bodyBytesMax: Int
    private var state = State.size(0, digits: 0)
    private var extensionBytes = 0
    private var trailerBytes = 0

    /// What the next byte belongs to.
    private enum State {
        /// A chunk's size, of which these digits have been read.
        case size(Int, digits: Int)
        /// The rest of a chunk's first line: extensions up to a CR.
        case extensions(size: Int)
        case sizeLineFeed(size: Int)
        /// A chunk's data, of which these bytes remain; they are followed by CR LF.
        case data(Int)
        case dataCarriageReturn, dataLineFeed
        case trailerStart, trailerName, trailerValue, trailerLineFeed, lastLineFeed
    }

    /// - Parameter bodyBytesMax: a larger body is an error with status 413, as soon as a chunk announces it.
    package init(bodyBytesMax: Int) { self.bodyBytesMax = bodyBytesMax }

    /// Decodes all bytes that the body's framing covers, and moves the body to the front.
    /// - Parameter bytes: the first ``bodyCount`` bytes of the body, as this function left them, then what has arrived
    ///   since.
    package mutating func decode(_ bytes: UnsafeMutableRawBufferPointer) -> Result {
        var index = bodyCount
        do throws(RequestError) {
            while index < bytes.count {
                if case .data(let remaining) = state {
                    index += move(min(remaining, bytes.count - index), in: bytes, from: index, of: remaining)
                } else if case .size(let size, let digits) = state {
                    index = try readSize(UnsafeRawBufferPointer(bytes), from: index, size, digits)
                } else {
                    let isLast = try read(bytes[index])
                    index += 1
                    if isLast { return .complete(end: index) }
                }
            }
            return .incomplete
        } catch {
            return .invalid(error)
        }
    }

    private mutating func move(_ count: Int, in bytes: UnsafeMutableRawBufferPointer, from index: Int, of remaining: Int) -> Int {
        if index != bodyCount {
            UnsafeMutableRawBufferPointer(rebasing: bytes[bodyCount..<(bodyCount + count)])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[index..<(index + count)]))
        }
        bodyCount += count
        state = remaining == count ? .dataCarriageReturn : .data(remaining - count)
        return count
    }

    /// Reads a byte that is not a chunk's data.
    /// - Returns: whether it is the body's last one.
    @inline(__always)
    private mutating func read(_ byte: UInt8) throws(RequestError) -> Bool {
        switch state {
        case .extensions(let size): try readExtension(byte, size)
        case .sizeLineFeed(let size):
            try expect("\n", byte)
            state = size > 0 ? .data(size) : .trailerStart
        case .size, .data: preconditionFailure("a chunk's size is read as a whole, and its data is moved")
        case .dataCarriageReturn:
            try expect("\r", byte)
            state = .dataLineFeed
        case .dataLineFeed:
            try expect("\n", byte)
            state = .size(0, digits: 0)
        case .trailerStart, .trailerName, .trailerValue, .trailerLineFeed: try readTrailer(byte)
        case .lastLineFeed:
            try expect("\n", byte)
            return true
        }
        return false
    }

    /// Reads the digits of a size, and the byte behind them.
    /// - Returns: the index of what follows.
    private mutating func readSize(
        _ bytes: UnsafeRawBufferPointer, from start: Int, _ size: Int, _ digits: Int
    ) throws(RequestError) -> Int {
        var (index, size, digits) = (start, size, digits)
        while index < bytes.count, let digit = PercentDecoding.digit(bytes[index]) {
            // The limit on the digits is one on leading zeros: a size of 16 other digits is far too large.
            size = size << 4 | Int(digit)
            guard digits < 16, size >= 0 else { throw Self.invalidSize }
            guard size <= bodyBytesMax - bodyCount else {
                throw RequestError(413, "The body exceeds the allowed maximum (\(bodyBytesMax) bytes)")
            }
            (index, digits) = (index + 1, digits + 1)
        }
        guard index < bytes.count else {
            state = .size(size, digits: digits)
            return index
        }
        switch bytes[index] {
        case UInt8(ascii: ";") where digits > 0: state = .extensions(size: size)
        case UInt8(ascii: "\r") where digits > 0:
            // Nearly always the line feed is there, too.
            guard index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "\n") else {
                state = .sizeLineFeed(size: size)
                break
            }
            state = size > 0 ? .data(size) : .trailerStart
            return index + 2
        default: throw Self.invalidSize
        }
        return index + 1
    }

    private mutating func readExtension(_ byte: UInt8, _ size: Int) throws(RequestError) {
        guard byte != UInt8(ascii: "\r") else {
            state = .sizeLineFeed(size: size)
            return
        }
        extensionBytes += 1
        guard extensionBytes <= Self.discardedBytesMax else {
            throw RequestError(400, "The chunk extensions exceed \(Self.discardedBytesMax) bytes")
        }
        guard ByteScan.isFieldByte(byte) else { throw Self.invalidSize }
    }

    private mutating func readTrailer(_ byte: UInt8) throws(RequestError) {
        trailerBytes += 1
        guard trailerBytes <= Self.discardedBytesMax else {
            throw RequestError(431, "The trailer section exceeds \(Self.discardedBytesMax) bytes")
        }
        switch (state, byte) {
        case (.trailerStart, UInt8(ascii: "\r")): state = .lastLineFeed
        case (.trailerStart, _) where ByteScan.isTokenByte(byte): state = .trailerName
        case (.trailerName, UInt8(ascii: ":")): state = .trailerValue
        case (.trailerName, _) where ByteScan.isTokenByte(byte): break
        case (.trailerValue, UInt8(ascii: "\r")): state = .trailerLineFeed
        case (.trailerValue, _) where ByteScan.isFieldByte(byte): break
        case (.trailerLineFeed, UInt8(ascii: "\n")): state = .trailerStart
        default: throw RequestError(400, "Invalid trailer section of a chunked body")
        }
    }

    private func expect(_ expected: Unicode.Scalar, _ byte: UInt8) throws(RequestError) {
        guard byte == UInt8(ascii: expected) else { throw RequestError(400, "Invalid chunked body: expected CR LF") }
    }

    private static var invalidSize: RequestError {
        RequestError(400, "Invalid chunked body: expected the size of a chunk in hexadecimal digits")
    }
}
