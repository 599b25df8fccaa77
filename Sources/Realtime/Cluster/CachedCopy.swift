import PusherProtocol

/// A node's copy of a cache channel's last event.
package struct CachedCopy: Equatable, Sendable {
    package let frame: Frame
    /// The rest of its lifetime in milliseconds.
    package let millisecondsLeft: Int64

    package init(frame: Frame, millisecondsLeft: Int64) {
        self.frame = frame
        self.millisecondsLeft = millisecondsLeft
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: frame.bytes.count + 8)
        writer.append(UInt64(bitPattern: millisecondsLeft))
        writer.append(rest: frame.bytes)
        return writer.bytes
    }

    /// Nil for an empty answer.
    package init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        millisecondsLeft = Int64(bitPattern: reader.int64())
        frame = Frame(encoded: Array(reader.rest()))
        guard reader.isValid, millisecondsLeft > 0, !frame.bytes.isEmpty else { return nil }
    }

    /// The newest of several nodes' copies: all have the same lifetime, so the one with most of it left.
    package static func newest(of answers: [[UInt8]]) -> CachedCopy? {
        answers.compactMap(CachedCopy.init).max { $0.millisecondsLeft < $1.millisecondsLeft }
    }
}
