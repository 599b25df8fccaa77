/// A client's masking key (RFC 6455 section 5.3): payload byte i is combined by XOR with key byte i mod 4.
struct Mask {
    /// The key's first byte is the lowest one.
    private let key: UInt32

    /// - Parameter key: the key's four bytes as they are in memory.
    init(key: UInt32) { self.key = UInt32(littleEndian: key) }

    /// Unmasks `bytes` in place, eight at a time.
    /// - Parameter position: the offset of `bytes` in the payload.
    func apply(to bytes: UnsafeMutableRawBufferPointer, at position: Int) {
        let shift = UInt32(position & 3) * 8
        let rotated = key >> shift | key << (32 &- shift & 31)
        let twice = (UInt64(rotated) << 32 | UInt64(rotated)).littleEndian
        var index = 0
        while index &+ 8 <= bytes.count {
            bytes.storeBytes(
                of: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ twice, toByteOffset: index, as: UInt64.self)
            index &+= 8
        }
        while index < bytes.count {
            bytes[index] ^= UInt8(truncatingIfNeeded: rotated >> (UInt32(index & 3) * 8))
            index &+= 1
        }
    }
}
