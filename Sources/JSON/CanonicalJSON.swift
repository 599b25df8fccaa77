/// A canonical form of JSON: equal values have equal bytes. Members are sorted by name; of members with the same name,
/// the last is kept. There is no white space; equal strings have the same escapes, and equal numbers the same digits.
/// The form resembles that of RFC 8785, but its numbers are exact decimals instead of doubles.
package enum CanonicalJSON {
    /// The canonical form of a JSON text.
    /// - Throws: ``JSONError`` if `bytes` are not one JSON value.
    package static func bytes(of bytes: UnsafeRawBufferPointer) throws -> [UInt8] {
        var writer = CanonicalWriter(capacity: bytes.count)
        try JSONReader.tokens(bytes) { writer.write($0) }
        return writer.json.bytes
    }
}

/// Writes the canonical form while the text is read. The members of an object are sorted when it ends, unless they are
/// sorted already.
private struct CanonicalWriter {
    private(set) var json: JSONWriter
    /// The open objects and arrays, the innermost last.
    private var containers: [Container] = []
    /// The members of the open objects, and the bytes of their names, one after another.
    private var members: [Member] = []
    private var names: [UInt8] = []

    private struct Container {
        let isObject: Bool
        /// Where its content begins in the JSON, and its members in ``members`` and ``names``.
        let jsonStart: Int
        let membersStart: Int
        let namesStart: Int
        var isEmpty = true
        var isSorted = true
    }

    private struct Member {
        let name: Range<Int>
        /// Where the member begins in the JSON, without a comma.
        let start: Int
    }

    init(capacity: Int) { json = JSONWriter(capacity: capacity) }

    mutating func write(_ token: JSONToken) {
        switch token {
        case .objectStart: open(isObject: true)
        case .arrayStart: open(isObject: false)
        case .objectEnd:
            sort(containers.removeLast())
            json.raw(byte: "}")
        case .arrayEnd:
            containers.removeLast()
            json.raw(byte: "]")
        case .name(let name): begin(name)
        case .scalar(let value):
            element()
            switch value.kind {
            case .string: write(text: value)
            case .number: CanonicalNumber(value.raw).write(to: &json)
            default: json.raw(value.raw)
            }
        }
    }

    private mutating func open(isObject: Bool) {
        element()
        json.raw(byte: isObject ? "{" : "[")
        containers.append(
            Container(
                isObject: isObject, jsonStart: json.bytes.count, membersStart: members.count, namesStart: names.count))
    }

    /// Separates an array's elements.
    private mutating func element() {
        guard let last = containers.indices.last, !containers[last].isObject else { return }
        if !containers[last].isEmpty { json.raw(byte: ",") }
        containers[last].isEmpty = false
    }

    private mutating func begin(_ name: JSONSlice) {
        let last = containers.count - 1
        if !containers[last].isEmpty { json.raw(byte: ",") }
        containers[last].isEmpty = false
        let start = json.bytes.count
        let nameStart = names.count
        name.withText { names.append(contentsOf: $0) }
        write(text: name)
        json.raw(byte: ":")
        let member = Member(name: nameStart..<names.count, start: start)
        if containers[last].isSorted, let previous = members[containers[last].membersStart...].last {
            containers[last].isSorted = precedes(previous, member)
        }
        members.append(member)
    }

    private mutating func write(text: JSONSlice) { text.withText { json.string(utf8: $0) } }

    private func precedes(_ one: Member, _ other: Member) -> Bool {
        names.withUnsafeBytes { names in
            let (one, other) = (names[one.name], names[other.name])
            return one.lexicographicallyPrecedes(other)
        }
    }

    /// Sorts the members of an object that ends. Of members with the same name, the last is kept.
    private mutating func sort(_ object: Container) {
        defer {
            members.removeSubrange(object.membersStart...)
            names.removeSubrange(object.namesStart...)
        }
        guard !object.isSorted else { return }
        let own = members[object.membersStart...]
        let ends = own.dropFirst().map { $0.start - 1 } + [json.bytes.count]
        let sorted = zip(own, ends).enumerated().sorted { one, other in
            if precedes(one.element.0, other.element.0) { return true }
            return !precedes(other.element.0, one.element.0) && one.offset < other.offset
        }
        let written = Array(json.bytes[object.jsonStart...])
        json.removeLast(written.count)
        written.withUnsafeBytes { written in
            for (index, (_, (member, end))) in sorted.enumerated() {
                if index + 1 < sorted.count, !precedes(member, sorted[index + 1].element.0) { continue }
                if json.bytes.count > object.jsonStart { json.raw(byte: ",") }
                let range = (member.start - object.jsonStart)..<(end - object.jsonStart)
                json.raw(UnsafeRawBufferPointer(rebasing: written[range]))
            }
        }
    }
}

/// The canonical form of a number: digits without leading or trailing zeros, and a power of ten. `-1.50e3` becomes
/// `-15e2`, and every zero becomes `0`.
private struct CanonicalNumber {
    private let text: UnsafeRawBufferPointer

    init(_ text: UnsafeRawBufferPointer) { self.text = text }

    func write(to json: inout JSONWriter) {
        let start = text.first == UInt8(ascii: "-") ? 1 : 0
        var end = start
        /// Where the point is; nil: the number has none.
        var sentPoint: Int?
        while end < text.count, text[end] | 0x20 != UInt8(ascii: "e") {
            if text[end] == UInt8(ascii: ".") { sentPoint = end }
            end += 1
        }
        guard let first = text[start..<end].firstIndex(where: Self.isNotZero),
            let last = text[start..<end].lastIndex(where: Self.isNotZero)
        else { return json.raw(byte: "0") }
        // A number whose exponent does not fit into 62 bits stays as written, so that the sum below cannot overflow.
        // Then equal numbers may differ, but no real request contains such a number.
        guard let exponent = exponent(after: end) else { return json.raw(text) }
        let point = sentPoint ?? end
        if start == 1 { json.raw(byte: "-") }
        if first < point { json.raw(UnsafeRawBufferPointer(rebasing: text[first..<min(point, last + 1)])) }
        if last > point { json.raw(UnsafeRawBufferPointer(rebasing: text[max(first, point + 1)...last])) }
        json.raw(byte: "e")
        // The digits between the last one written and the point are zeros; those behind the point are decimals.
        json.integer(exponent + (last < point ? point - last - 1 : point - last))
    }

    /// The exponent, 0 if there is none. Nil if it does not fit.
    private func exponent(after mantissaEnd: Int) -> Int? {
        guard mantissaEnd < text.count else { return 0 }
        var (exponent, isNegative) = (0, false)
        for byte in text[(mantissaEnd + 1)...] {
            switch byte {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "+"): break
            default:
                guard exponent < 1 << 58 else { return nil }
                exponent = exponent * 10 + Int(byte - UInt8(ascii: "0"))
            }
        }
        return isNegative ? -exponent : exponent
    }

    private static func isNotZero(_ byte: UInt8) -> Bool { byte != UInt8(ascii: "0") && byte != UInt8(ascii: ".") }
}
