import HTTP
import Primitives

/// Those cookies of a request that the gateway asks for. A header has `name=value` pairs separated by `;`, where a value may
/// be in quotes (RFC 6265 section 4).
///
/// Borrows the bytes of the request's head.
struct RequestCookies {
    /// Most chunks of one cookie. Each is about as large as browsers permit a cookie to be, which is 4 KB.
    private static let chunksMax = 10

    /// In the order sent.
    private var pairs: [(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)] = []

    /// - Parameters:
    ///   - header: the value of `Cookie`; nil: the request has none.
    ///   - names: the names to find. Other cookies are skipped, because a header may have hundreds.
    init(_ header: UnsafeRawBufferPointer?, names: [String]) {
        guard let header, let shortest = names.map(\.utf8.count).min() else { return }
        var start = 0
        while start < header.count {
            while start < header.count, header[start] == UInt8(ascii: " ") { start += 1 }
            let rest = UnsafeRawBufferPointer(rebasing: header[start...])
            let pair = UnsafeRawBufferPointer(rebasing: rest[..<(rest.offset(of: UInt8(ascii: ";")) ?? rest.count)])
            if pair.count > shortest, names.contains(where: { pair.isCookie($0) }) { note(pair) }
            start += pair.count + 1
        }
    }

    private mutating func note(_ pair: UnsafeRawBufferPointer) {
        guard let nameEnd = pair.offset(of: UInt8(ascii: "=")), nameEnd + 1 < pair.count else { return }
        var value = pair[(nameEnd + 1)...]
        let isQuoted = value.count > 1 && value.first == UInt8(ascii: "\"") && value.last == UInt8(ascii: "\"")
        if isQuoted { value = value.dropFirst().dropLast() }
        pairs.append((UnsafeRawBufferPointer(rebasing: pair[..<nameEnd]), UnsafeRawBufferPointer(rebasing: value)))
    }

    /// The value of the first cookie that has one of the names.
    func value(named names: [String]) -> String? {
        pairs.first { pair in names.contains { pair.name.hasSameBytes(as: $0) } }.map {
            String(decoding: $0.value, as: UTF8.self)
        }
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

extension UnsafeRawBufferPointer {
    /// Whether a `name=value` pair is a cookie of this name, or a chunk of one.
    fileprivate func isCookie(_ name: String) -> Bool {
        let length = name.utf8.count
        guard count > length, self[length] == UInt8(ascii: "=") || self[length] == UInt8(ascii: ".") else { return false }
        return UnsafeRawBufferPointer(rebasing: self[..<length]).hasSameBytes(as: name)
    }
}
