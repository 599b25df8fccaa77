extension HTTPClientResponse {
    /// The seconds for which the server says that the response is fresh: `max-age` of `Cache-Control` (RFC 9111 section
    /// 5.2.2.1). Nil if it does not say so.
    package var maxAgeSeconds: Int64? {
        guard let directives = headers[Header.cacheControl.rawValue] else { return nil }
        for directive in directives.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = directive.split(separator: UInt8(ascii: "="), maxSplits: 1)
            let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
            guard parts.count == 2, parts[0].drop(while: isSpace).elementsEqual("max-age".utf8, by: { $0 | 0x20 == $1 })
            else { continue }
            // The RFC permits quotes and tells recipients to read a number that is too large as a large one.
            let digits = parts[1].filter { $0 != UInt8(ascii: "\"") && !isSpace($0) }
            guard !digits.isEmpty, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
            return Int64(String(decoding: digits, as: UTF8.self)) ?? .max
        }
        return nil
    }
}
