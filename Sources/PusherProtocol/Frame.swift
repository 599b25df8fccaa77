/// One or more complete WebSocket frames (RFC 6455 section 5.2) with their headers, as they are written to the socket.
///
/// A frame is encoded once and shared by all its recipients: `bytes` is one allocation, and each copy of the frame
/// contains a pointer to it.
package struct Frame: Equatable, Sendable {
    package let bytes: [UInt8]
    /// The number of messages in `bytes`. Control frames do not count.
    package let messageCount: Int

    /// A frame with one text message, whose UTF-8 is the concatenation of `payload`. It is not masked: only clients
    /// mask their frames.
    package init(pieces payload: [UnsafeRawBufferPointer]) {
        let length = payload.reduce(0) { $0 + $1.count }
        messageCount = 1
        bytes = [UInt8](unsafeUninitializedCapacity: length + 10) { buffer, count in
            count = Self.writeHeader(length: length, to: buffer)
            for piece in payload where !piece.isEmpty {
                UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...]).copyMemory(from: piece)
                count += piece.count
            }
        }
    }

    /// A frame with one text message.
    package init(text: [UInt8]) { self = text.withUnsafeBytes { Frame(pieces: [$0]) } }

    /// A ping frame (RFC 6455 section 5.5.2). The client responds with a pong frame that has the same payload. The
    /// payload is not empty, because libwebsockets does not report empty pongs.
    static let ping = Frame(control: [0x89, 0x04] + Array("life".utf8))  // FIN and ping; 4 bytes of payload

    private init(control bytes: [UInt8]) {
        self.bytes = bytes
        messageCount = 0
    }

    /// Concatenates frames, to send them in one write.
    package init(joining frames: some Collection<Frame>) {
        var joined: [UInt8] = []
        joined.reserveCapacity(frames.reduce(0) { $0 + $1.bytes.count })
        for frame in frames { joined.append(contentsOf: frame.bytes) }
        bytes = joined
        messageCount = frames.reduce(0) { $0 + $1.messageCount }
    }

    /// The length of the first frame's header in bytes.
    static func headerLength(of bytes: UnsafeRawBufferPointer) -> Int {
        switch bytes[1] {
        case 126: 4
        case 127: 10
        default: 2
        }
    }

    private static func writeHeader(length: Int, to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        buffer[0] = 0x81  // FIN, text
        switch length {
        case 0..<126:
            buffer[1] = UInt8(length)
            return 2
        case 126..<65_536:
            buffer[1] = 126
            buffer[2] = UInt8(length >> 8)
            buffer[3] = UInt8(length & 0xFF)
            return 4
        default:
            buffer[1] = 127
            for index in 0..<8 { buffer[2 + index] = UInt8((length >> (56 - 8 * index)) & 0xFF) }
            return 10
        }
    }
}
