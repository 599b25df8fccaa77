import HTTP

/// The correlation id of each request (`X-Correlation-ID`): the client's, or a generated one. Logs, the audit log and
/// the response contain it.
struct CorrelationIDs {
    static let lengthMax = 128

    /// The start of generated ids: 16 hexadecimal digits. It is random, so that the ids of different loops and
    /// processes differ; the count that follows makes the ids unique within the loop.
    private let prefix = String(UInt64.random(in: 1 << 60 ... .max), radix: 16) + "-"
    private var count: UInt64 = 0

    /// The request's id if it has 1 to 128 characters of `[A-Za-z0-9._:/+=-]`, otherwise a new one. The id gets into log
    /// lines, events, pages and databases, where none of these characters has a meaning.
    /// - Parameter bytes: the buffer that the head's ranges refer to.
    mutating func id(of head: RequestHead, in bytes: UnsafeRawBufferPointer) -> String {
        guard let range = head[.xCorrelationID] else { return next() }
        let id = bytes[range]
        guard (1...Self.lengthMax).contains(id.count), id.allSatisfy(Self.isPermitted) else { return next() }
        return String(decoding: id, as: UTF8.self)
    }

    private static func isPermitted(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-")...UInt8(ascii: ":"),
            UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "="):
            true
        default: false
        }
    }

    /// A new id.
    mutating func next() -> String {
        count += 1
        return prefix + String(count)
    }
}
