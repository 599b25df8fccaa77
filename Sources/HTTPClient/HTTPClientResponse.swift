/// What came back: whatever the server answered, 500 too.
package struct HTTPClientResponse: Equatable, Sendable {
    package let status: Int
    package let body: [UInt8]
    /// By lower-case name; of several of one name the last. Only those that somebody asks for are kept, which are the
    /// cases of ``HeaderTable``.
    package let headers: [String: String]
    /// False when the connection was lost, or the time was over, before the end of the body. The status is 2xx then: any other
    /// answer that is not whole is a ``HTTPClientError``.
    package let isWhole: Bool

    package init(status: Int, body: [UInt8] = [], headers: [String: String] = [:], isWhole: Bool = true) {
        self.status = status
        self.body = body
        self.headers = headers
        self.isWhole = isWhole
    }

    /// What is kept of a reply's headers: another one costs its case here.
    enum Header: String, CaseIterable {
        case apnsID = "apns-id"
        case retryAfter = "retry-after"

        /// Takes `Retry-After: …` apart; nil for a line that is no header, or one that nobody asks for.
        static func parse(_ line: UnsafeRawBufferPointer) -> (header: Header, value: String)? {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), let header = Header(name: line[..<colon]) else {
                return nil
            }
            var value = line[(colon + 1)...]
            while let last = value.last, isSpace(last) { value.removeLast() }
            return (header, String(decoding: value.drop(while: isSpace), as: UTF8.self))
        }

        /// Most headers are other people's: their length alone tells.
        private init?(name: Slice<UnsafeRawBufferPointer>) {
            let candidate: Header
            switch name.count {
            case 7: candidate = .apnsID
            case 11: candidate = .retryAfter
            default: return nil
            }
            // 0x20 makes a letter lower-case, and leaves a hyphen a hyphen.
            guard zip(name, candidate.rawValue.utf8).allSatisfy({ $0 | 0x20 == $1 }) else { return nil }
            self = candidate
        }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0D || byte == 0x0A || byte == 0x09 }
    }
}
