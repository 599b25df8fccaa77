/// A client's masking key (RFC 6455 section 5.3): payload byte i is combined by XOR with key byte i mod 4.
struct Mask {
    /// The key's first byte is the lowest one.
    private let key: UInt32

    /// - Parameter key: the key's four bytes as they are in memory.
    init(key: UInt32) { self.key = UInt32(littleEndian: key) }

    /// Masks or unmasks `bytes` in place, mostly 32 bytes at a time.
    /// - Parameter position: the offset of `bytes` in the payload.
    func apply(to bytes: UnsafeMutableRawBufferPointer, at position: Int) {
        guard var next = bytes.baseAddress else { return }
        let end = next + bytes.count
        let shift = UInt32(truncatingIfNeeded: position & 3) &* 8
        let rotated = key &>> shift | key &<< (32 &- shift)
        var twice = UInt64(rotated) << 32 | UInt64(rotated)
        let word = twice.littleEndian
        while end - next >= 32 {
            next.storeBytes(of: next.loadUnaligned(as: SIMD4<UInt64>.self) ^ SIMD4(repeating: word), as: SIMD4<UInt64>.self)
            next += 32
        }
        while end - next >= 8 {
            next.storeBytes(of: next.loadUnaligned(as: UInt64.self) ^ word, as: UInt64.self)
            next += 8
        }
        while next < end {
            next.storeBytes(of: next.load(as: UInt8.self) ^ UInt8(truncatingIfNeeded: twice), as: UInt8.self)
            next += 1
            twice >>= 8
        }
    }
}
