/// Base64 as JOSE writes it (RFC 7515 section 2, RFC 4648 section 5): `-` and `_`, no padding.
///
/// Decoding is strict, so that bytes have one spelling only: a token that could be respelled would be another token to
/// whoever compares texts, and the same one to us.
package enum Base64URL {
    package static func text(_ bytes: [UInt8]) -> String {
        let text = [UInt8](unsafeUninitializedCapacity: (bytes.count * 4 + 2) / 3) { buffer, count in
            var (bits, bitCount): (UInt32, UInt32) = (0, 0)
            for byte in bytes {
                bits = bits << 8 | UInt32(byte)
                bitCount += 8
                while bitCount >= 6 {
                    bitCount -= 6
                    buffer[count] = alphabet[Int(bits >> bitCount & 63)]
                    count += 1
                }
                bits &= 1 << bitCount - 1
            }
            guard bitCount > 0 else { return }
            buffer[count] = alphabet[Int(bits << (6 - bitCount) & 63)]
            count += 1
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Nil for padding, for any character outside the alphabet, for a length no bytes have, and when the bits beyond the
    /// last byte are not zero.
    package static func bytes(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var (bits, bitCount): (UInt32, UInt32) = (0, 0)
        for character in text {
            guard let value = value(of: character) else { return nil }
            bits = bits << 6 | value
            bitCount += 6
            guard bitCount >= 8 else { continue }
            bitCount -= 8
            bytes.append(UInt8(bits >> bitCount))
            bits &= 1 << bitCount - 1
        }
        return bits == 0 ? bytes : nil
    }

    package static func bytes(_ text: String) -> [UInt8]? { bytes(Array(text.utf8)[...]) }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
