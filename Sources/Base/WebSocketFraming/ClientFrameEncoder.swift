/// Encodes a client's frames, which are masked (RFC 6455 section 5.3).
///
/// Each function takes the frame's masking key: four random bytes.
package enum ClientFrameEncoder {
    /// An unfragmented text message.
    package static func text(_ payload: [UInt8], key: UInt32) -> [UInt8] {
        payload.withUnsafeBytes { encode(FrameEncoder.textHeader(length: payload.count), $0, key) }
    }

    /// A pong frame.
    /// - Parameter payload: the ping's payload: at most 125 bytes.
    package static func pong(payload: UnsafeRawBufferPointer, key: UInt32) -> [UInt8] {
        encode([0x80 | Opcode.pong.rawValue, UInt8(payload.count)], payload, key)
    }

    /// A close frame without a reason.
    package static func close(code: UInt16, key: UInt32) -> [UInt8] {
        withUnsafeBytes(of: code.bigEndian) { encode([0x80 | Opcode.close.rawValue, 2], $0, key) }
    }

    /// - Parameter header: of a server's frame.
    private static func encode(_ header: [UInt8], _ payload: UnsafeRawBufferPointer, _ key: UInt32) -> [UInt8] {
        var bytes = header
        bytes[1] |= 0x80
        withUnsafeBytes(of: key) { bytes.append(contentsOf: $0) }
        let start = bytes.count
        bytes.append(contentsOf: payload)
        bytes.withUnsafeMutableBytes { Mask(key: key).apply(to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]), at: 0) }
        return bytes
    }
}
