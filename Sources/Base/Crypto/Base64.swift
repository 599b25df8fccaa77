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
        var isValid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4) { bytes, count in
            isValid = text.withUnsafeBufferPointer { text in
                values.withUnsafeBufferPointer { decode(text, $0, to: bytes, &count) }
            }
        }
        return isValid ? bytes : nil
    }

    /// - Returns: false if the text is not valid.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, _ values: UnsafeBufferPointer<UInt8>, to bytes: UnsafeMutableBufferPointer<UInt8>,
        _ count: inout Int
    ) -> Bool {
        var (index, invalid): (Int, UInt8) = (0, 0)
        while index &+ 4 <= text.count {
            let (a, b) = (values[Int(text[index])], values[Int(text[index &+ 1])])
            let (c, d) = (values[Int(text[index &+ 2])], values[Int(text[index &+ 3])])
            invalid |= a | b | c | d
            bytes[count] = a &<< 2 | b &>> 4
            bytes[count &+ 1] = b &<< 4 | c &>> 2
            bytes[count &+ 2] = c &<< 6 | d
            (index, count) = (index &+ 4, count &+ 3)
        }
        // Two or three more characters are one or two bytes.
        guard index < text.count else { return invalid < 64 }
        let (a, b) = (values[Int(text[index])], values[Int(text[index + 1])])
        let c = index + 2 < text.count ? values[Int(text[index + 2])] : 0
        bytes[count] = a << 2 | b >> 4
        count += 1
        guard index + 2 < text.count else { return invalid | a | b < 64 && b & 15 == 0 }
        bytes[count] = b << 4 | c >> 2
        count += 1
        return invalid | a | b | c < 64 && c & 3 == 0
    }

    /// Decodes the UTF-8 bytes of `text` by the same rules.
    package static func bytes(_ text: String) -> [UInt8]? { bytes(Array(text.utf8)[...]) }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The value of each character; 255: it is not in the alphabet.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()
}
