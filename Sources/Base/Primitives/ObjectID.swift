/// An id of 24 lower-case hexadecimal digits, as apps expect it in `_id`: of accounts, batches, orders, kitchens.
package struct ObjectID: Hashable, Sendable {
    /// The 24 digits.
    package let text: String

    /// Nil if the text is anything but 24 lower-case hexadecimal digits.
    package init?(_ text: String) {
        guard text.utf8.count == 24, text.utf8.allSatisfy(Self.digits.contains) else { return nil }
        self.text = text
    }

    private init(digits: [UInt8]) { text = String(decoding: digits, as: UTF8.self) }

    /// An id of 96 random bits.
    package static func random(using generator: inout some RandomNumberGenerator) -> ObjectID {
        ObjectID(digits: (0..<24).map { _ in digits[Int.random(in: digits.indices, using: &generator)] })
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
