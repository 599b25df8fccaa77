import HTTP
import Primitives

/// Those cookies of a request that the gateway asks for. A header has `name=value` pairs separated by `;`, where a value may
/// be in quotes (RFC 6265 section 4).
///
/// Borrows the bytes of the request's head.
struct RequestCookies {
    /// Most chunks of one cookie. Each is about as large as browsers permit a cookie to be, which is 4 KB.
    private static let chunksMax = 10
    /// Most cookies of one name that are looked at.
    private static let valuesMax = 4

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

    /// The values of the cookies with this name: a browser has several if they were set for different paths or domains.
    /// At most ``valuesMax``, in the order sent.
    func values(named name: String) -> [String] {
        pairs.lazy.filter { $0.name.hasSameBytes(as: name) }.prefix(Self.valuesMax).map {
            String(decoding: $0.value, as: UTF8.self)
        }
    }

    /// The values of a cookie that may come in chunks, because browsers limit a cookie's size: `name.0`, `name.1` and so on.
    /// - Returns: those of whole cookies before those of chunks; an empty string if there are too many chunks.
    func joinedValues(named name: String) -> [String] {
        var chunks: [[String]] = []
        while chunks.count <= Self.chunksMax, case let chunk = values(named: "\(name).\(chunks.count)"), !chunk.isEmpty {
            chunks.append(chunk)
        }
        guard chunks.count <= Self.chunksMax else { return values(named: name) + [""] }
        // Of two cookies that both come in chunks, the browser sends the chunks in the same order.
        let cookies = chunks.map(\.count).max() ?? 0
        return values(named: name)
            + (0..<cookies).map { number in chunks.map { $0[min(number, $0.count - 1)] }.joined() }
    }

    /// Whether there is neither a cookie with one of the names nor a chunk of one.
    var isEmpty: Bool { pairs.isEmpty }
}

extension UnsafeRawBufferPointer {
    /// Whether a `name=value` pair is a cookie of this name, or a chunk of one.
    fileprivate func isCookie(_ name: String) -> Bool {
        let length = name.utf8.count
        guard count > length, self[length] == UInt8(ascii: "=") || self[length] == UInt8(ascii: ".") else { return false }
        return UnsafeRawBufferPointer(rebasing: self[..<length]).hasSameBytes(as: name)
    }
}
