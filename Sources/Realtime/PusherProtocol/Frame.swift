import WebSocketFraming

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
        var bytes = FrameEncoder.textHeader(length: payload.reduce(0) { $0 + $1.count })
        for piece in payload { bytes.append(contentsOf: piece) }
        self.bytes = bytes
        messageCount = 1
    }

    /// A frame with one text message.
    package init(text: [UInt8]) {
        var bytes = FrameEncoder.textHeader(length: text.count)
        bytes.append(contentsOf: text)
        self.bytes = bytes
        messageCount = 1
    }

    /// A frame with one text message that another node of the cluster has encoded.
    /// - Parameter bytes: ``bytes`` of its frame.
    package init(encoded bytes: [UInt8]) {
        self.bytes = bytes
        messageCount = 1
    }

    /// No frame at all.
    package static let none = Frame(joining: [])

    /// A ping frame without payload.
    static let ping = Frame.ping(payload: [])

    /// A ping frame (RFC 6455 section 5.5.2). The client responds with a pong frame that has the same payload.
    /// - Parameter payload: at most 125 bytes.
    package static func ping(payload: [UInt8]) -> Frame { Frame(control: FrameEncoder.ping(payload: payload)) }

    /// A pong frame (RFC 6455 section 5.5.3).
    /// - Parameter payload: the ping's payload: at most 125 bytes.
    package static func pong(payload: UnsafeRawBufferPointer) -> Frame { Frame(control: FrameEncoder.pong(payload: payload)) }

    /// A close frame (RFC 6455 section 5.5.1).
    /// - Parameters:
    ///   - code: nil for a frame without payload, which responds to a close frame without a code.
    ///   - reason: it is cut to the 123 bytes that fit, without splitting a character.
    package init(close code: UInt16?, reason: String = "") {
        self.init(control: FrameEncoder.close(code: code, reason: reason))
    }

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

    /// The payload of the first frame in `bytes`, and what follows that frame.
    static func payload(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[FrameEncoder.headerByteCount(of: bytes)...])
    }
}
