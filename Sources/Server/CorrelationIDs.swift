import CLibwebsockets

/// The correlation id of each request (`X-Correlation-ID`): the client's, or a generated one. Logs, the audit log and
/// the response contain it.
struct CorrelationIDs {
    static let lengthMax = 128

    /// The start of generated ids: 16 hexadecimal digits. It is random, so that the ids of different loops and
    /// processes differ; the count that follows makes the ids unique within the loop.
    private let prefix = String(UInt64.random(in: 1 << 60 ... .max), radix: 16)
    private var count: UInt64 = 0

    /// The request's id if it has 1 to 128 printable ASCII characters, otherwise a new one.
    mutating func id(of wsi: OpaquePointer) -> String {
        if let id = HeaderTable.custom("x-correlation-id:", wsi), Self.isAcceptable(id) { return id }
        count += 1
        return prefix + "-" + String(count, radix: 16)
    }

    private static func isAcceptable(_ text: String) -> Bool {
        (1...lengthMax).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
