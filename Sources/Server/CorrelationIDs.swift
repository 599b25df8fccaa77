import CLibwebsockets

/// What ties a request to all that comes of it (`X-Correlation-ID`): the sender's own, or one of ours.
struct CorrelationIDs {
    static let lengthMax = 128

    /// Sets this loop's apart from those of any other loop or process; the count sets them apart from each other.
    private let prefix = String(UInt64.random(in: 1 << 60 ... .max), radix: 16)
    private var count: UInt64 = 0

    /// The request's, when it is 1 to 128 printable ASCII characters; else a new one.
    mutating func id(of wsi: OpaquePointer) -> String {
        if let given = HeaderTable.custom("x-correlation-id:", wsi), Self.isAcceptable(given) { return given }
        count += 1
        return prefix + "-" + String(count, radix: 16)
    }

    private static func isAcceptable(_ text: String) -> Bool {
        (1...lengthMax).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
