import COpenSSL

/// Base64 with padding (RFC 4648 section 4).
package enum Base64 {
    package static func text(_ bytes: [UInt8]) -> String {
        var encoded = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)  // and the zero that OpenSSL ends it with
        let count = EVP_EncodeBlock(&encoded, bytes, Int32(bytes.count))
        return String(decoding: encoded[..<Int(count)], as: UTF8.self)
    }

    /// Nil unless `text` is base64 with its padding.
    package static func bytes(of text: String) -> [UInt8]? {
        let encoded = Array(text.utf8)
        guard !encoded.isEmpty, encoded.count % 4 == 0 else { return encoded.isEmpty ? [] : nil }
        var decoded = [UInt8](repeating: 0, count: encoded.count / 4 * 3)
        guard EVP_DecodeBlock(&decoded, encoded, Int32(encoded.count)) >= 0 else { return nil }
        // "EVP_DecodeBlock … the output will be padded with 0 bits if necessary": the padding says how much is too much.
        return Array(decoded.dropLast(encoded.suffix(2).count { $0 == UInt8(ascii: "=") }))
    }
}
