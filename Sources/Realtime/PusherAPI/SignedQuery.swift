import HTTP
import Primitives

/// The query of a signed request: where the parameters of the signature are, and which bytes are signed.
///
/// The signature covers the parameters except `auth_signature`, decoded, with names in lower case and sorted (protocol
/// point A1). The libraries send them in this form already, so the signed bytes are the query as sent, less one
/// parameter. ``init(raw:)`` finds out in one walk, and allocates nothing.
struct SignedQuery {
    /// Ranges of the bytes that the query was made from. Of duplicate parameters, the last one's.
    private(set) var key: ByteRange?
    private(set) var signature: ByteRange?
    private(set) var timestamp: ByteRange?
    private(set) var version: ByteRange?
    private(set) var bodyMD5: ByteRange?
    /// The signed bytes before `auth_signature`.
    private(set) var signedBefore = ByteRange(0..<0)
    /// The signed bytes after `auth_signature`.
    private(set) var signedAfter = ByteRange(0..<0)

    /// Reads a query in the form in which it is signed. Nil if it is in another form: ``decoding(_:)`` converts it.
    /// - Parameter query: percent-encoded.
    init?(raw query: UnsafeRawBufferPointer) {
        guard query.offset(of: UInt8(ascii: "%")) == nil, query.offset(of: UInt8(ascii: "+")) == nil else { return nil }
        var (before, after) = (0..<query.count, query.count..<query.count)
        var previous = UnsafeRawBufferPointer(rebasing: query[..<0])
        var index = 0
        while index < query.count {
            let rest = UnsafeRawBufferPointer(rebasing: query[index...])
            let parameter = UnsafeRawBufferPointer(rebasing: rest[..<(rest.offset(of: UInt8(ascii: "&")) ?? rest.count)])
            guard let nameCount = parameter.offset(of: UInt8(ascii: "=")), nameCount > 0, rest.count != parameter.count + 1
            else { return nil }
            let start = index
            let isLast = rest.count == parameter.count
            let name = UnsafeRawBufferPointer(rebasing: parameter[..<nameCount])
            let value = start + nameCount + 1..<start + parameter.count
            index = isLast ? query.count : value.upperBound + 1
            if name.hasSameBytes(as: "auth_signature") {
                guard signature == nil else { return nil }
                signature = ByteRange(value)
                // The `&` before the last parameter is not signed either.
                before = 0..<max(0, isLast ? start - 1 : start)
                after = index..<query.count
                continue
            }
            guard !name.precedes(previous), note(name, value) || !name.hasUpperCase else { return nil }
            previous = name
        }
        // Not assigned in the loop: in release builds, Swift 6.3 then loses the assignments.
        signedBefore = ByteRange(before)
        signedAfter = ByteRange(after)
    }

    /// Notes where the value of a parameter is.
    /// - Returns: whether the signature's check needs this parameter.
    private mutating func note(_ name: UnsafeRawBufferPointer, _ value: Range<Int>) -> Bool {
        if name.hasSameBytes(as: "auth_key") {
            key = ByteRange(value)
        } else if name.hasSameBytes(as: "auth_timestamp") {
            timestamp = ByteRange(value)
        } else if name.hasSameBytes(as: "auth_version") {
            version = ByteRange(value)
        } else if name.hasSameBytes(as: "body_md5") {
            bodyMD5 = ByteRange(value)
        } else {
            return false
        }
        return true
    }

    // MARK: Any form

    /// Converts a query of any form.
    /// - Returns: the bytes that are signed, followed by the signature; and the query that refers to them.
    static func decoding(_ query: UnsafeRawBufferPointer) -> (bytes: [UInt8], query: SignedQuery) {
        var parameters: [(name: [UInt8], value: [UInt8])] = []
        for parameter in query.split(separator: UInt8(ascii: "&")) {
            let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let (name, value) = (decoded(parts[0]), parts.count > 1 ? decoded(parts[1]) : [])
            parameters.append((name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, value))
        }
        return SignedQuery.joining(parameters)
    }

    private static func decoded(_ bytes: Slice<UnsafeRawBufferPointer>) -> [UInt8] {
        PercentDecoding.bytes(UnsafeRawBufferPointer(rebasing: bytes), .query)
    }

    private static func joining(
        _ parameters: [(name: [UInt8], value: [UInt8])]
    ) -> (bytes: [UInt8], query: SignedQuery) {
        var (bytes, query) = ([UInt8](), SignedQuery())
        // Parameters of the same name stay in the order sent.
        let sorted = parameters.enumerated().sorted { one, other in
            one.element.name == other.element.name
                ? one.offset < other.offset : one.element.name.lexicographicallyPrecedes(other.element.name)
        }
        var signature: [UInt8]?
        for (name, value) in sorted.map(\.element) {
            guard !name.elementsEqual("auth_signature".utf8) else {
                signature = value
                continue
            }
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            bytes += name
            bytes.append(UInt8(ascii: "="))
            bytes += value
            name.withUnsafeBytes { _ = query.note($0, bytes.count - value.count..<bytes.count) }
        }
        query.signedBefore = ByteRange(0..<bytes.count)
        if let signature {
            query.signature = ByteRange(bytes.count..<bytes.count + signature.count)
            bytes += signature
        }
        return (bytes, query)
    }

    private init() {}
}

extension UnsafeRawBufferPointer {
    /// Whether a byte is an upper-case ASCII letter.
    fileprivate var hasUpperCase: Bool { contains { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) } }

    /// Whether the bytes come before `other` in the order of unsigned bytes.
    fileprivate func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
        let common = Swift.min(count, other.count)
        for index in 0..<common where self[index] != other[index] { return self[index] < other[index] }
        return count < other.count
    }
}
