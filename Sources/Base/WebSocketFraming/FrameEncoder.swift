/// Encodes the server's frames (RFC 6455 section 5.2). They are not masked: only clients mask their frames.
package enum FrameEncoder {
    /// The length of the header at the start of `frame`, which this type encoded.
    package static func headerByteCount(of frame: UnsafeRawBufferPointer) -> Int {
        switch frame[1] {
        case 126: 4
        case 127: 10
        default: 2
        }
    }

    /// The start of an unfragmented text message: its header, and memory for the `length` bytes that follow.
    package static func textHeader(length: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length + 10)
        bytes.append(0x80 | Opcode.text.rawValue)
        switch length {
        case 0..<126: bytes.append(UInt8(length))
        case 126..<65_536:
            bytes.append(126)
            withUnsafeBytes(of: UInt16(length).bigEndian) { bytes.append(contentsOf: $0) }
        default:
            bytes.append(127)
            withUnsafeBytes(of: UInt64(length).bigEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    /// A ping frame (section 5.5.2).
    /// - Parameter payload: at most 125 bytes.
    package static func ping(payload: some Collection<UInt8>) -> [UInt8] { control(.ping, payload) }

    /// A pong frame (section 5.5.3).
    /// - Parameter payload: the ping's payload: at most 125 bytes.
    package static func pong(payload: some Collection<UInt8>) -> [UInt8] { control(.pong, payload) }

    /// A close frame (section 5.5.1).
    /// - Parameters:
    ///   - code: nil for a frame without payload, which responds to a close frame without a code.
    ///   - reason: it is cut to the 123 bytes that fit, without splitting a character.
    package static func close(code: UInt16?, reason: String = "") -> [UInt8] {
        guard let code else { return control(.close, []) }
        return control(.close, [UInt8(code >> 8), UInt8(code & 0xFF)] + prefix(of: Array(reason.utf8), bytesMax: 123))
    }

    private static func control(_ opcode: Opcode, _ payload: some Collection<UInt8>) -> [UInt8] {
        precondition(payload.count <= FrameHeader.controlPayloadBytesMax, "a control frame has at most 125 bytes of payload")
        return [0x80 | opcode.rawValue, UInt8(payload.count)] + payload
    }

    /// The longest prefix of UTF-8 text with at most `bytesMax` bytes that ends with a whole character.
    private static func prefix(of text: [UInt8], bytesMax: Int) -> ArraySlice<UInt8> {
        guard text.count > bytesMax else { return text[...] }
        var end = bytesMax
        while end > 0, text[end] & 0xC0 == 0x80 { end -= 1 }  // a continuation byte
        return text[..<end]
    }
}
