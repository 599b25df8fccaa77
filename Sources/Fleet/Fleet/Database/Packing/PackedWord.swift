/// Short texts of which there are few, or that begin alike, as the log keeps them: a character that no such text contains
/// stands for a beginning, or for all of it. Text of earlier versions is kept as it is.
enum PackedWord {
    /// The number of a beginning is its place: add further ones at the end only.
    static let beginnings = [
        "order:", "route:", "admin:", "driver:", "customer:", "ops:", "assign", "unassign", "update", "cancel", "remove_driver",
        "announce", "accept", "progress", "batch:", "trip", "account",
    ]
    /// Their codes and bytes, the longest first.
    private static let packings: [(code: UInt8, bytes: [UInt8])] = beginnings.enumerated()
        .map { (UInt8($0 + 1), Array($1.utf8)) }.sorted { $0.1.count > $1.1.count }

    static func pack(_ text: String) -> String {
        var text = text
        let packed: String? = text.withUTF8 { bytes in
            for (code, beginning) in packings where bytes.first == beginning[0] && bytes.starts(with: beginning) {
                let rest = bytes[beginning.count...]
                return String(unsafeUninitializedCapacity: rest.count + 1) { buffer in
                    buffer[0] = code
                    _ = buffer[1...].initialize(fromContentsOf: rest)
                    return rest.count + 1
                }
            }
            return nil
        }
        return packed ?? text
    }

    static func unpack(_ stored: String) -> String {
        guard let first = stored.utf8.first, first >= 1, Int(first) <= beginnings.count else { return stored }
        return beginnings[Int(first) - 1] + String(Substring(stored.utf8.dropFirst()))
    }
}
