/// Lower-case hexadecimal, as Pusher writes digests.
enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    static func text(_ bytes: [UInt8]) -> String { String(decoding: Self.bytes(bytes), as: UTF8.self) }

    static func bytes(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: bytes.count * 2) { buffer, count in
            for byte in bytes {
                buffer[count] = digits[Int(byte >> 4)]
                buffer[count + 1] = digits[Int(byte & 15)]
                count += 2
            }
        }
    }
}
