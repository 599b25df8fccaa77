/// What a frame is (RFC 6455 section 5.2). Other values are reserved.
enum Opcode: UInt8 {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    /// Whether this is a control frame. Such a frame may come between the fragments of a message.
    var isControl: Bool { rawValue & 0x8 != 0 }
}

/// Who sends frames. A client must mask them, a server must not (RFC 6455 section 5.1).
package enum FrameSender: Sendable { case client, server }

/// The header of a frame (RFC 6455 section 5.2).
struct FrameHeader {
    let opcode: Opcode
    /// Whether this is the last frame of its message (the FIN bit).
    let isFinal: Bool
    /// Bytes of payload that follow the header.
    let length: Int
    /// Of a server's frame, the mask that changes nothing.
    let mask: Mask

    /// The longest header, in bytes: two, a length of eight, and the masking key.
    static let byteCountMax = 14
    /// The largest payload of a control frame, in bytes (RFC 6455 section 5.5).
    static let controlPayloadBytesMax = 125

    /// Reads the header at the start of `bytes`. A rule is checked as soon as the bytes that it concerns are there.
    /// - Returns: the header and its length, 2 to 14 bytes; nil if `bytes` ends within the header.
    /// - Throws: a ``FramingError`` with the code 1002.
    static func read(
        from bytes: UnsafeRawBufferPointer, of sender: FrameSender
    ) throws(FramingError) -> (header: FrameHeader, byteCount: Int)? {
        guard bytes.count >= 2 else { return nil }
        let (first, second) = (bytes[0], bytes[1])
        guard first & 0x70 == 0 else { throw .protocolError("Reserved bits are set: no extension is negotiated") }
        guard let opcode = Opcode(rawValue: first & 0x0F) else { throw .protocolError("Unknown opcode \(first & 0x0F)") }
        let isFinal = first & 0x80 != 0
        guard (second & 0x80 != 0) == (sender == .client) else {
            throw .protocolError(sender == .client ? "The frame is not masked" : "The frame is masked")
        }
        if opcode.isControl {
            guard isFinal else { throw .protocolError("A control frame is fragmented") }
            guard second & 0x7F <= controlPayloadBytesMax else { throw .protocolError("A control frame is above 125 bytes") }
        }
        guard let (length, lengthEnd) = try readLength(bytes) else { return nil }
        if sender == .server {
            return (FrameHeader(opcode: opcode, isFinal: isFinal, length: length, mask: Mask(key: 0)), lengthEnd)
        }
        guard bytes.count >= lengthEnd + 4 else { return nil }
        let mask = Mask(key: bytes.loadUnaligned(fromByteOffset: lengthEnd, as: UInt32.self))
        return (FrameHeader(opcode: opcode, isFinal: isFinal, length: length, mask: mask), lengthEnd + 4)
    }

    /// Reads the payload's length, which the sender must write in the shortest of the three forms.
    /// - Returns: the length, and the offset of what follows it; nil if `bytes` ends before that offset.
    private static func readLength(_ bytes: UnsafeRawBufferPointer) throws(FramingError) -> (length: Int, end: Int)? {
        switch bytes[1] & 0x7F {
        case 126:
            guard bytes.count >= 4 else { return nil }
            let length = Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
            guard length >= 126 else { throw .protocolError("The frame's length is not in its shortest form") }
            return (length, 4)
        case 127:
            guard bytes.count >= 10 else { return nil }
            let length = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            guard length >= 65_536 else { throw .protocolError("The frame's length is not in its shortest form") }
            guard let length = Int(exactly: length) else { throw .protocolError("The frame's length has its top bit set") }
            return (length, 10)
        case let length:
            return (Int(length), 2)
        }
    }
}

/// A rule of RFC 6455 that the sender broke. The receiver closes the connection with this code.
struct FramingError: Error {
    /// 1002, 1007 or 1009 (RFC 6455 section 7.4.1).
    let closeCode: UInt16
    let reason: String

    static func protocolError(_ reason: String) -> FramingError { FramingError(closeCode: 1002, reason: reason) }
    static func invalidUTF8(_ reason: String) -> FramingError { FramingError(closeCode: 1007, reason: reason) }
    static func tooLong(limit: Int) -> FramingError {
        FramingError(closeCode: 1009, reason: "Message too long: the limit is \(limit) bytes")
    }
}
