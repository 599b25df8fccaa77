/// Short texts of which there are few, or that begin alike, as the log keeps them: a character that no such text contains
/// stands for a beginning, or for all of it. Text of earlier versions is kept as it is.
enum PackedWord {
    /// The number of a beginning is its place: add further ones at the end only.
    static let beginnings = [
        "order:", "route:", "admin:", "driver:", "customer:", "ops:", "assign", "unassign", "update", "cancel", "remove_driver",
        "announce", "accept", "progress", "batch:", "trip", "account",
    ]
    private static let codes = Array(1...31).compactMap { UnicodeScalar($0) }.map(Character.init)

    static func pack(_ text: String) -> String {
        guard
            let number = beginnings.indices.filter({ text.utf8.starts(with: beginnings[$0].utf8) })
                .max(by: { beginnings[$0].utf8.count < beginnings[$1].utf8.count })
        else { return text }
        return String(codes[number]) + String(Substring(text.utf8.dropFirst(beginnings[number].utf8.count)))
    }

    static func unpack(_ stored: String) -> String {
        guard let first = stored.utf8.first, first >= 1, Int(first) <= beginnings.count else { return stored }
        return beginnings[Int(first) - 1] + String(Substring(stored.utf8.dropFirst()))
    }
}
