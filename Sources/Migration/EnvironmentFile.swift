/// A `.env` file as Laravel reads it (github.com/vlucas/phpdotenv): `NAME=value` lines, `#` comments, quotes, and `${NAME}`
/// for earlier variables.
struct EnvironmentFile {
    private(set) var values: [String: String] = [:]
    /// The names in the order of the file.
    private(set) var names: [String] = []

    /// The most lines that are read.
    private static let linesMax = 20_000
    /// The longest value that is kept, with references replaced.
    private static let valueBytesMax = 4_096

    /// - Throws: ``MigrationError`` if no line sets a variable.
    init(_ text: String) throws(MigrationError) {
        var count = 0
        for line in text.utf8.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            count += 1
            guard count <= Self.linesMax else { throw MigrationError("more than \(Self.linesMax) lines") }
            guard let (name, value) = Self.variable(line) else { continue }
            if values[name] == nil { names.append(name) }
            values[name] = resolved(value)
        }
        guard !names.isEmpty else {
            throw MigrationError("no line is NAME=value: expected a soketi.json, a Laravel .env or a HAR recording")
        }
    }

    /// A variable's value; nil if it is not set, or empty.
    subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// Whether a name begins so.
    func has(prefix: String) -> Bool { names.contains { $0.utf8.starts(with: prefix.utf8) } }

    private static func variable(_ line: Substring.UTF8View) -> (name: String, value: [UInt8])? {
        var rest = line.drop(while: isSpace)
        if rest.starts(with: "export ".utf8) { rest = rest.dropFirst(7).drop(while: isSpace) }
        guard rest.first != UInt8(ascii: "#"), let equals = rest.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        let name = rest[..<equals].reversed().drop(while: isSpace).reversed()
        guard (1...200).contains(name.count), name.allSatisfy(isNameByte) else { return nil }
        return (String(decoding: name, as: UTF8.self), unquoted(Array(rest[equals...].dropFirst().drop(while: isSpace))))
    }

    /// The value without quotes, or up to a comment.
    private static func unquoted(_ text: [UInt8]) -> [UInt8] {
        guard let quote = text.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            var value: [UInt8] = []
            for byte in text {
                if byte == UInt8(ascii: "#"), value.last.map(isSpace) ?? true { break }
                value.append(byte)
            }
            while let last = value.last, isSpace(last) { value.removeLast() }
            return value
        }
        var value: [UInt8] = []
        var isEscaped = false
        for byte in text.dropFirst() {
            if isEscaped {
                value.append(byte)
                isEscaped = false
            } else if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
                isEscaped = true
            } else if byte == quote {
                break
            } else {
                value.append(byte)
            }
        }
        return value
    }

    /// The value with earlier variables in the place of `${NAME}`.
    private func resolved(_ text: [UInt8]) -> String {
        var value: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst(), value.count < Self.valueBytesMax {
            guard byte == UInt8(ascii: "$"), rest.first == UInt8(ascii: "{"),
                let end = rest.prefix(210).firstIndex(of: UInt8(ascii: "}"))
            else {
                value.append(byte)
                continue
            }
            value += (values[String(decoding: rest[(rest.startIndex + 1)..<end], as: UTF8.self)] ?? "").utf8
            rest = rest[end...].dropFirst()
        }
        return String(decoding: value.prefix(Self.valueBytesMax), as: UTF8.self)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
