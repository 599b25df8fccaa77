import COpenSSL

/// Base64 with padding (RFC 4648 section 4).
package enum Base64 {
    package static func text(_ bytes: [UInt8]) -> String {
        var encoded = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)  // and the zero that OpenSSL ends it with
        let count = EVP_EncodeBlock(&encoded, bytes, Int32(bytes.count))
        return String(decoding: encoded[..<Int(count)], as: UTF8.self)
    }

    /// Nil unless `text` is the base64 of some bytes, with its padding and nothing else.
    package static func bytes(of text: String) -> [UInt8]? {
        let encoded = Array(text.utf8)
        guard encoded.count % 4 == 0 else { return nil }
        var decoded = [UInt8](repeating: 0, count: encoded.count / 4 * 3)
        guard encoded.isEmpty || EVP_DecodeBlock(&decoded, encoded, Int32(encoded.count)) >= 0 else { return nil }
        // "EVP_DecodeBlock … the output will be padded with 0 bits if necessary": the padding says how much is too much.
        decoded.removeLast(encoded.suffix(2).count { $0 == UInt8(ascii: "=") })
        // It takes more than there is: "any leading whitespace will be trimmed", padding anywhere, bits beyond the last byte.
        return Self.text(decoded).utf8.elementsEqual(encoded) ? decoded : nil
    }
}
