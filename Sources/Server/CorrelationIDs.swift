import HTTP

/// The correlation id of each request (`X-Correlation-ID`): the client's, or a generated one. Logs, the audit log and
/// the response contain it.
struct CorrelationIDs {
    static let lengthMax = 128

    /// The start of generated ids: 16 hexadecimal digits. It is random, so that the ids of different loops and
    /// processes differ; the count that follows makes the ids unique within the loop.
    private let prefix = String(UInt64.random(in: 1 << 60 ... .max), radix: 16) + "-"
    private var count: UInt64 = 0

    /// The request's id if it has 1 to 128 printable ASCII characters, otherwise a new one.
    /// - Parameter bytes: the buffer that the head's ranges refer to.
    mutating func id(of head: RequestHead, in bytes: UnsafeRawBufferPointer) -> String {
        guard let range = head[.xCorrelationID] else { return next() }
        let id = bytes[range]
        guard (1...Self.lengthMax).contains(id.count), id.allSatisfy({ (0x20...0x7E).contains($0) }) else { return next() }
        return String(decoding: id, as: UTF8.self)
    }

    /// A new id.
    mutating func next() -> String {
        count += 1
        return prefix + String(count)
    }
}
