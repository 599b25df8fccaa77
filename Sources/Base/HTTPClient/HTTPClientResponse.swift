/// A response of any status.
package struct HTTPClientResponse: Equatable, Sendable {
    /// The HTTP status.
    package let status: Int
    /// The body, or its first ``HTTPPool/Options/responseBytesMax`` bytes.
    package let body: [UInt8]
    /// Values by lower-case header name. Of a repeated header, only the last value is kept; only the headers of
    /// ``Header`` are kept at all.
    package let headers: [String: String]
    /// Whether the body was received to its end. False if it was cut off (``HTTPPool/Options/responseBytesMax``), the
    /// connection was lost, or the request timed out before; in the last two cases the status is 2xx, because an
    /// incomplete response of another status is an ``HTTPClientError``, unless ``HTTPPool/Options/needsOnlyStatus`` is set.
    package let isComplete: Bool

    package init(status: Int, body: [UInt8] = [], headers: [String: String] = [:], isComplete: Bool = true) {
        self.status = status
        self.body = body
        self.headers = headers
        self.isComplete = isComplete
    }

    /// The response headers that are kept. To keep another one, add a case.
    enum Header: String, CaseIterable {
        case apnsID = "apns-id"
        case cacheControl = "cache-control"
        case retryAfter = "retry-after"

        /// Parses `Retry-After: …`; nil if the line is not a header or the header is not kept.
        static func parse(_ line: UnsafeRawBufferPointer) -> (header: Header, value: String)? {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), let header = Header(name: line[..<colon]) else {
                return nil
            }
            var value = line[(colon + 1)...]
            while let last = value.last, isSpace(last) { value.removeLast() }
            return (header, String(decoding: value.drop(while: isSpace), as: UTF8.self))
        }

        /// The header with this name; nil if it is not kept. The length alone excludes most other headers.
        private init?(name: Slice<UnsafeRawBufferPointer>) {
            let candidate: Header
            switch name.count {
            case 7: candidate = .apnsID
            case 11: candidate = .retryAfter
            case 13: candidate = .cacheControl
            default: return nil
            }
            // Setting the bit 0x20 makes a letter lower-case and does not change a hyphen.
            guard zip(name, candidate.rawValue.utf8).allSatisfy({ $0 | 0x20 == $1 }) else { return nil }
            self = candidate
        }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0D || byte == 0x0A || byte == 0x09 }
    }
}
