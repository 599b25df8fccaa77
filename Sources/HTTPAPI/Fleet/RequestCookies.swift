import HTTP

/// The cookies of a request: `name=value` pairs separated by `;`, where a value may be in quotes (RFC 6265 section 4).
struct RequestCookies {
    private typealias Bytes = Substring.UTF8View

    /// Most chunks of one cookie. Each is about as large as browsers permit a cookie to be, which is 4 KB.
    private static let chunksMax = 10

    private let pairs: [(name: Bytes, value: Bytes)]

    /// - Parameter header: the value of `Cookie`; nil: the request has none.
    init(_ header: String?) {
        pairs = (header ?? "")[...].utf8.split(separator: UInt8(ascii: ";")).compactMap { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard parts.count == 2 else { return nil }
            let (name, value) = (parts[0].drop { $0 == UInt8(ascii: " ") }, parts[1])
            let isQuoted = value.count > 1 && value.first == UInt8(ascii: "\"") && value.last == UInt8(ascii: "\"")
            return (name, isQuoted ? value.dropFirst().dropLast() : value)
        }
    }

    /// The value of the first cookie that has one of the names.
    func value(named names: [String]) -> String? {
        pairs.first { pair in names.contains { $0.utf8.elementsEqual(pair.name) } }.map { String(Substring($0.value)) }
    }

    /// The value of a cookie that may come in chunks, because browsers limit a cookie's size: `name.0`, `name.1` and so on.
    /// - Returns: nil if there is no such cookie; an empty string if there are too many chunks.
    func joinedValue(named name: String) -> String? {
        if let value = value(named: [name]) { return value }
        var joined = ""
        for number in 0...Self.chunksMax {
            guard let chunk = value(named: ["\(name).\(number)"]) else { return number == 0 ? nil : joined }
            joined += chunk
        }
        return ""
    }
}
