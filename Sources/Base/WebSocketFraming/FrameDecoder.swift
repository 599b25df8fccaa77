/// Decodes the frames of one client, or of a server (RFC 6455 section 5), in place and without copying what arrives whole.
///
/// A frame that lies whole in the caller's bytes is unmasked there and handed out from there. Only the parts of
/// incomplete frames and of fragmented messages are copied into the decoder. Between messages it keeps nothing
/// (``isIdle``), so an idle connection needs no decoder.
package struct FrameDecoder {
    /// What the peer sent. The buffers belong to the caller's bytes or to the decoder; they are valid until the next
    /// call of ``next(in:at:costMax:)``.
    package enum Event {
        /// A whole text message in valid UTF-8.
        case text(UnsafeRawBufferPointer)
        /// The beginning of a binary message, without its content. From here on the decoder skips data frames, as after
        /// ``FrameDecoder/stopDelivering()``: the server closes the connection with 1003.
        case binary
        /// A ping; its payload of at most 125 bytes belongs in the pong (RFC 6455 section 5.5.3).
        case ping(UnsafeRawBufferPointer)
        /// A pong with a payload of at most 125 bytes.
        case pong(UnsafeRawBufferPointer)
        /// The peer's close frame: its code, nil if the frame is empty, and the reason in valid UTF-8, at most 123
        /// bytes. The decoder discards all that follows (RFC 6455 section 1.4).
        case close(code: UInt16?, reason: UnsafeRawBufferPointer)
        /// The peer broke a rule: the receiver closes the connection with this code (1002, 1007 or 1009) and reason.
        /// The decoder discards all that follows (RFC 6455 section 7.1.7).
        case failed(closeCode: UInt16, reason: String)
    }

    private enum Mode { case delivering, skippingData, ended }

    /// A frame whose payload is incomplete.
    private struct IncomingFrame {
        let header: FrameHeader
        /// Bytes of payload so far.
        var received = 0
    }

    private let messageBytesMax: Int
    private let sender: FrameSender
    private var mode = Mode.delivering
    /// The bytes of an incomplete header.
    private var head = KeptBytes()
    private var frame: IncomingFrame?
    /// Whether a text message has begun and not ended.
    private var isInMessage = false
    /// The message's bytes so far. If no message has begun, the bytes that the last event handed out.
    private var message = KeptBytes()
    private var validator = UTF8Validator()
    /// The payload of the control frame in `frame`; otherwise what the last event handed out.
    private var control = KeptBytes()

    /// What the frames cost that have begun: one each, and one more for each further started KiB, because what a message
    /// costs grows with its size. The caller sets it to 0 when it has counted it.
    package var cost = 0

    /// - Parameters:
    ///   - messageBytesMax: the bytes of a text message, all its fragments counted. Above it the connection fails with
    ///     1009.
    ///   - sender: who sends the frames.
    package init(messageBytesMax: Int, of sender: FrameSender = .client) {
        self.messageBytesMax = messageBytesMax
        self.sender = sender
    }

    /// Whether the decoder keeps nothing: no message, no frame has begun. A new decoder would behave the same.
    package var isIdle: Bool { mode == .delivering && frame == nil && head.isEmpty && !isInMessage }

    /// The bytes that the decoder keeps of incomplete frames and messages.
    package var keptByteCount: Int { head.count + message.count + control.count }

    /// Skips data frames from now on, because the server has sent a close frame. Control frames are still decoded, so
    /// that the client's close frame is found. At that frame, and at a failure, the server closes the TCP connection
    /// (RFC 6455 section 7.1.1). The last event's buffer remains valid.
    package mutating func stopDelivering() {
        if mode == .delivering { mode = .skippingData }
    }

    /// Decodes up to the next event.
    /// - Parameters:
    ///   - bytes: what was received. The decoder changes it.
    ///   - offset: where to go on in `bytes`: 0 at first. The decoder advances it.
    ///   - costMax: no further frame begins when ``cost`` is so large.
    /// - Returns: nil if more bytes are needed: `offset` is the end of `bytes` then, and the decoder keeps what it
    ///   needs. Nil also before the first frame above `costMax`, which begins at `offset`.
    package mutating func next(
        in bytes: UnsafeMutableRawBufferPointer, at offset: inout Int, costMax: Int = .max
    ) -> Event? {
        freeDelivered()
        do throws(FramingError) {
            while mode != .ended {
                if frame == nil {
                    guard cost < costMax else { return nil }
                    guard let header = try readHeader(in: bytes, at: &offset) else { return nil }
                    frame = IncomingFrame(header: header)
                    cost += 1 + max(0, header.length - 1) / 1_024
                    if let event = try begin(header) { return event }
                }
                if let event = try readPayload(in: bytes, at: &offset) { return event }
                guard frame == nil else { return nil }
            }
        } catch {
            mode = .ended
            offset = bytes.count
            return .failed(closeCode: error.closeCode, reason: error.reason)
        }
        offset = bytes.count
        return nil
    }

    /// Frees the memory of the event before, and of a message that will not be delivered.
    private mutating func freeDelivered() {
        if !message.isEmpty, !isInMessage || mode != .delivering { message.removeAll() }
        if !control.isEmpty, frame == nil { control.removeAll() }
    }

    /// Reads a frame's header, of which the decoder may have kept a part.
    private mutating func readHeader(
        in bytes: UnsafeMutableRawBufferPointer, at offset: inout Int
    ) throws(FramingError) -> FrameHeader? {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[offset...])
        if head.isEmpty, let (header, count) = try FrameHeader.read(from: rest, of: sender) {
            offset += count
            return header
        }
        while offset < bytes.count {
            head.append(UnsafeRawBufferPointer(rebasing: bytes[offset...offset]), countMax: FrameHeader.byteCountMax)
            offset += 1
            if let (header, _) = try FrameHeader.read(from: head.bytes, of: sender) {
                head.removeAll()
                return header
            }
        }
        return nil
    }

    /// Checks a data frame's place and length in its message (RFC 6455 section 5.4).
    /// - Returns: an event if a binary message begins.
    private mutating func begin(_ header: FrameHeader) throws(FramingError) -> Event? {
        guard mode == .delivering, !header.opcode.isControl else { return nil }
        if header.opcode == .continuation {
            guard isInMessage else { throw .protocolError("A continuation frame came outside of a message") }
        } else {
            guard !isInMessage else { throw .protocolError("A new message began within a fragmented message") }
        }
        if header.opcode == .binary {
            mode = .skippingData
            return .binary
        }
        guard header.length <= messageBytesMax - message.count else { throw .tooLong(limit: messageBytesMax) }
        isInMessage = true
        return nil
    }

    /// Takes what `bytes` contains of the current frame's payload.
    /// - Returns: an event if the frame is complete and causes one.
    private mutating func readPayload(
        in bytes: UnsafeMutableRawBufferPointer, at offset: inout Int
    ) throws(FramingError) -> Event? {
        guard var current = frame else { return nil }
        let count = min(current.header.length - current.received, bytes.count - offset)
        let part = UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<offset + count])
        offset += count
        let isSkipped = mode != .delivering && !current.header.opcode.isControl
        if !isSkipped { current.header.mask.apply(to: part, at: current.received) }
        current.received += count
        frame = current.received < current.header.length ? current : nil
        if isSkipped { return nil }
        return try current.header.opcode.isControl
            ? readControl(UnsafeRawBufferPointer(part), current.header)
            : readText(UnsafeRawBufferPointer(part), current.header)
    }

    /// Takes a part of a text message, unmasked.
    private mutating func readText(_ part: UnsafeRawBufferPointer, _ header: FrameHeader) throws(FramingError) -> Event? {
        guard validator.accept(part) else { throw .invalidUTF8("A text message is not valid UTF-8") }
        let isLast = frame == nil && header.isFinal
        if isLast {
            guard validator.isComplete else { throw .invalidUTF8("A text message ends within a character") }
            isInMessage = false
            if message.isEmpty { return .text(part) }
        }
        // Only the last fragment shows the message's length. If each fragment limited the memory, each would cause a
        // copy.
        let rest = frame.map { $0.header.length - $0.received } ?? 0
        message.append(part, countMax: header.isFinal ? message.count + part.count + rest : messageBytesMax)
        return isLast ? .text(message.bytes) : nil
    }

    /// Takes a part of a control frame, unmasked.
    private mutating func readControl(_ part: UnsafeRawBufferPointer, _ header: FrameHeader) throws(FramingError) -> Event? {
        var payload = part
        if part.count < header.length {
            control.append(part, countMax: header.length)
            payload = control.bytes
        }
        guard frame == nil else { return nil }
        switch header.opcode {
        case .ping: return .ping(payload)
        case .pong: return .pong(payload)
        default: return try close(payload)
        }
    }

    /// Reads a close frame's payload (RFC 6455 sections 5.5.1 and 7.4).
    private mutating func close(_ payload: UnsafeRawBufferPointer) throws(FramingError) -> Event {
        guard payload.count != 1 else { throw .protocolError("A close frame has one byte of payload") }
        let reason = UnsafeRawBufferPointer(rebasing: payload.dropFirst(2))
        var code: UInt16?
        if !payload.isEmpty {
            let sent = UInt16(bigEndian: payload.loadUnaligned(as: UInt16.self))
            switch sent {
            case 1000...1003, 1007...1014, 3000...4999: code = sent
            default: throw .protocolError("A close frame has the code \(sent)")
            }
        }
        var validator = UTF8Validator()
        guard validator.accept(reason), validator.isComplete else { throw .invalidUTF8("A close reason is not valid UTF-8") }
        mode = .ended
        return .close(code: code, reason: reason)
    }
}
