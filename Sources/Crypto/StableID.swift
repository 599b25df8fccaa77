/// Names made from texts: the same text has the same one on every try, and after every restart.
package enum StableID {
    /// 32 lower-case hexadecimal digits: the first half of the text's SHA-256.
    package static func digits(of text: String) -> String {
        Hexadecimal.text(Array(SHA256.digest(of: Array(text.utf8)).prefix(16)))
    }

    /// The same digits in the form of a UUID, 8-4-4-4-12.
    package static func uuid(of text: String) -> String {
        var uuid = Array(digits(of: text).utf8)
        for position in [20, 16, 12, 8] { uuid.insert(UInt8(ascii: "-"), at: position) }
        return String(decoding: uuid, as: UTF8.self)
    }
}
