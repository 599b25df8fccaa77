import Primitives

/// A canonical form of JSON: equal values have equal bytes. Members are sorted by name, as it is written; of members with
/// the same name, the last is kept. There is no white space; equal strings have the same escapes, and equal numbers the same
/// digits.
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
    /// The members of the open objects.
    private var members: [Member] = []

    private struct Container {
        let isObject: Bool
        /// Where its content begins in the JSON, and its members in ``members``.
        let jsonStart: Int
        let membersStart: Int
        var isEmpty = true
        var isSorted = true
    }

    private struct Member {
        /// The first eight bytes of the name as it is written: nearly always they decide the order. Zeros are behind a
        /// shorter one.
        let prefix: UInt64
        /// Where the member begins in its object, where its name ends, and where the member does, without commas. The last one
        /// is set when members are sorted. Small numbers, because sorting moves them.
        let start: UInt32
        let nameEnd: UInt32
        var end: UInt32 = 0

        init(start: Int, nameEnd: Int, in object: UnsafeRawBufferPointer) {
            (self.start, self.nameEnd) = (UInt32(start), UInt32(nameEnd))
            var prefix: UInt64 = 0
            let count = min(8, nameEnd - start - 1)
            for byte in object[(start + 1)..<(start + 1 + count)] { prefix = prefix << 8 | UInt64(byte) }
            self.prefix = count > 0 ? prefix << UInt64(64 - 8 * count) : 0
        }

        /// Whether the prefix is the whole name. No name contains a zero as it is written.
        var isWholeNamePrefix: Bool { nameEnd - start - 1 <= 8 }

        /// The order of two members by their names: negative if the first one comes first, 0 if the names are equal.
        @inline(__always)
        func order(to other: Member, in object: UnsafeRawBufferPointer) -> Int {
            guard prefix == other.prefix else { return prefix < other.prefix ? -1 : 1 }
            return name(in: object).order(to: other.name(in: object))
        }

        private func name(in object: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(rebasing: object[Int(start + 1)..<Int(nameEnd)])
        }
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
                isObject: isObject, jsonStart: json.bytes.count, membersStart: members.count))
    }

    /// Separates an array's elements.
    private mutating func element() {
        let last = containers.count - 1
        guard last >= 0, !containers[last].isObject else { return }
        if containers[last].isEmpty { containers[last].isEmpty = false } else { json.raw(byte: ",") }
    }

    private mutating func begin(_ name: JSONSlice) {
        let last = containers.count - 1
        if containers[last].isEmpty { containers[last].isEmpty = false } else { json.raw(byte: ",") }
        let start = json.bytes.count
        write(text: name)
        let objectStart = containers[last].jsonStart
        let member = json.bytes.withUnsafeBytes { json in
            let object = UnsafeRawBufferPointer(rebasing: json[objectStart...])
            let member = Member(start: start - objectStart, nameEnd: object.count - 1, in: object)
            if containers[last].isSorted, members.count > containers[last].membersStart {
                containers[last].isSorted = members[members.count - 1].order(to: member, in: object) < 0
            }
            return member
        }
        json.raw(byte: ":")
        members.append(member)
    }

    /// What has no escapes needs none: it is written as it is.
    private mutating func write(text: JSONSlice) {
        if text.escaped { text.withText { json.string(utf8: $0) } } else { json.raw(text.raw) }
    }

    /// Of members with the same short name, keeps the last, in any order: sorting them would cost more.
    private static func removeRepeated(from members: inout [Member]) {
        guard members.count > 16 else { return }
        var names: Set<UInt64> = []
        members = members.reversed().filter { !$0.isWholeNamePrefix || names.insert($0.prefix).inserted }
    }

    /// Sorts the members of an object that ends. Of members with the same name, the last is kept.
    private mutating func sort(_ object: Container) {
        defer { members.removeLast(members.count - object.membersStart) }
        guard !object.isSorted else { return }
        var own = Array(members[object.membersStart...])
        for index in own.indices {
            own[index].end = index + 1 < own.count ? own[index + 1].start - 1 : UInt32(json.bytes.count - object.jsonStart)
        }
        let written = Array(json.bytes[object.jsonStart...])
        json.removeLast(written.count)
        written.withUnsafeBytes { written in
            Self.removeRepeated(from: &own)
            own.sort { one, other in
                let order = one.order(to: other, in: written)
                return order == 0 ? one.start < other.start : order < 0
            }
            for (index, member) in own.enumerated() {
                if index + 1 < own.count, member.order(to: own[index + 1], in: written) == 0 { continue }
                if json.bytes.count > object.jsonStart { json.raw(byte: ",") }
                json.raw(UnsafeRawBufferPointer(rebasing: written[Int(member.start)..<Int(member.end)]))
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
        guard !writesShort(to: &json) else { return }
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

    /// Writes a number of few digits, as most are.
    private func writesShort(to json: inout JSONWriter) -> Bool {
        guard text.count <= 8, text.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return false }
        var end = text.count
        while end > 0, text[end - 1] == UInt8(ascii: "0") { end -= 1 }
        for byte in text[..<end] { json.raw(byte: Unicode.Scalar(byte)) }
        json.raw(byte: end > 0 ? "e" : "0")
        if end > 0 { json.raw(byte: Unicode.Scalar(UInt8(ascii: "0") + UInt8(text.count - end))) }
        return true
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
