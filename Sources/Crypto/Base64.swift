import COpenSSL

/// Base64 with padding (RFC 4648 section 4).
package enum Base64 {
    /// Encodes `bytes`.
    package static func text(_ bytes: [UInt8]) -> String {
        var encoded = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)  // plus OpenSSL's terminating zero
        let count = EVP_EncodeBlock(&encoded, bytes, Int32(bytes.count))
        return String(decoding: encoded[..<Int(count)], as: UTF8.self)
    }

    /// Decodes `text`; nil unless it is canonical base64 with padding.
    package static func bytes(of text: String) -> [UInt8]? {
        let encoded = Array(text.utf8)
        guard encoded.count % 4 == 0 else { return nil }
        var decoded = [UInt8](repeating: 0, count: encoded.count / 4 * 3)
        guard encoded.isEmpty || EVP_DecodeBlock(&decoded, encoded, Int32(encoded.count)) >= 0 else { return nil }
        // "The output will be padded with 0 bits if necessary" (EVP_DecodeBlock(3)): remove one byte for each `=` of
        // padding.
        decoded.removeLast(encoded.suffix(2).count { $0 == UInt8(ascii: "=") })
        // EVP_DecodeBlock also accepts leading whitespace, misplaced padding, and bits beyond the last byte. A text
        // with any of these differs from the encoding of the decoded bytes.
        return Self.text(decoded).utf8.elementsEqual(encoded) ? decoded : nil
    }
}

/// Base64url without padding, as JOSE uses it (RFC 7515 section 2, RFC 4648 section 5).
///
/// Decoding is strict, so that bytes have exactly one encoding. If decoding were lenient, the same token could be
/// written in several ways, and a comparison of strings would treat them as different tokens.
package enum Base64URL {
    /// Encodes `bytes`.
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

    /// Decodes `text`. Returns nil if it contains padding or any other character outside the alphabet, if no encoding
    /// has its length, or if the bits beyond the last byte are not zero.
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

    /// Decodes the UTF-8 bytes of `text` by the same rules.
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
