import Crypto

/// Ids of devices, messages and requests as the store keeps them: those that consist of digits take half the bytes.
///
/// A text has one form only, so SQL can compare the forms. The first byte says which it is; text without such a byte, of
/// this version or an earlier one, is kept as it is.
enum PackedText {
    private enum Form: UInt8 {
        /// Text that begins like one of the other forms.
        case verbatim = 0
        /// 16 bytes: a UUID in lower case, in upper case, and 32 digits in lower case.
        case uuid, capitalUUID, digits
        /// FCM's ids of messages: `0:`, 16 decimal digits, `%`, 16 digits in lower case.
        case message
    }

    static func pack(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        for form in [Form.uuid, .capitalUUID, .digits] {
            guard bytes.count == (form == .digits ? 32 : 36),
                let number = bytes.filter({ $0 != UInt8(ascii: "-") }).withUnsafeBytes(Hexadecimal.number)
            else { continue }
            let packed = [form.rawValue] + withUnsafeBytes(of: number.bigEndian) { Array($0) }
            // Only a text that comes back the same: hyphens may stand elsewhere, and cases be mixed.
            if unpack(packed).hasSameBytes(as: text) { return packed }
        }
        if let packed = packedMessage(bytes) { return packed }
        return bytes.first.map { $0 <= Form.message.rawValue } ?? false ? [Form.verbatim.rawValue] + bytes : bytes
    }

    static func unpack(_ stored: [UInt8]) -> String {
        guard let form = stored.first.flatMap(Form.init) else { return String(decoding: stored, as: UTF8.self) }
        let bytes = Array(stored.dropFirst())
        switch form {
        case .verbatim: return String(decoding: bytes, as: UTF8.self)
        case .digits: return Hexadecimal.text(bytes)
        case .uuid: return uuid(bytes)
        case .capitalUUID: return uuid(bytes).uppercased()
        case .message:
            let number = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return "0:\(padded(number))%\(Hexadecimal.text(Array(bytes.dropFirst(8))))"
        }
    }

    private static func uuid(_ bytes: [UInt8]) -> String {
        var digits = Array(Hexadecimal.text(bytes).utf8)
        for position in [20, 16, 12, 8] where position <= digits.count { digits.insert(UInt8(ascii: "-"), at: position) }
        return String(decoding: digits, as: UTF8.self)
    }

    private static func packedMessage(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count == 35, bytes.starts(with: "0:".utf8), bytes[18] == UInt8(ascii: "%"),
            let number = UInt64(String(decoding: bytes[2..<18], as: UTF8.self)),
            let rest = ([UInt8](repeating: UInt8(ascii: "0"), count: 16) + bytes[19...])
                .withUnsafeBytes(Hexadecimal.number).map({ UInt64($0) })
        else { return nil }
        let packed = [Form.message.rawValue] + [number, rest].flatMap { withUnsafeBytes(of: $0.bigEndian) { Array($0) } }
        return unpack(packed).utf8.elementsEqual(bytes) ? packed : nil
    }

    private static func padded(_ number: UInt64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits
    }
}
