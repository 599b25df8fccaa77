/// JSON in which the values of some members are null, at any depth.
package enum HiddenMembers {
    /// - Parameters:
    ///   - names: the names of the members, without escapes.
    ///   - text: one JSON value. Its white space is left out.
    /// - Throws: ``JSONError`` if `text` is not one JSON value.
    package static func nulling(_ names: [String], in text: UnsafeRawBufferPointer) throws -> [UInt8] {
        var writer = HidingWriter(names, capacity: text.count)
        try JSONReader.tokens(text) { writer.write($0) }
        return writer.json.bytes
    }
}

/// Writes what it reads, and null for the values of hidden members.
private struct HidingWriter {
    private(set) var json: JSONWriter
    private let names: [String]
    /// Whether a value or member is the first of its object or array, and whether it follows a name.
    private var (isFirst, followsName) = (true, false)
    /// Whether the next value is hidden, and how many containers of it are open.
    private var (isHidden, hiddenDepth) = (false, 0)

    init(_ names: [String], capacity: Int) {
        self.names = names
        json = JSONWriter(capacity: capacity)
    }

    mutating func write(_ token: JSONToken) {
        guard !isHidden else { return skip(token) }
        switch token {
        case .name(let name):
            separate()
            json.raw(name.raw)
            json.raw(":")
            followsName = true
            guard names.contains(where: { name.equals(text: $0) }) else { return }
            json.raw("null")
            (isHidden, followsName) = (true, false)
        case .scalar(let value):
            separate()
            json.raw(value.raw)
        case .objectStart: open("{")
        case .arrayStart: open("[")
        case .objectEnd: close("}")
        case .arrayEnd: close("]")
        }
    }

    private mutating func skip(_ token: JSONToken) {
        switch token {
        case .objectStart, .arrayStart: hiddenDepth += 1
        case .objectEnd, .arrayEnd: hiddenDepth -= 1
        case .name, .scalar: break
        }
        isHidden = hiddenDepth > 0
    }

    private mutating func separate() {
        if !isFirst, !followsName { json.raw(",") }
        (isFirst, followsName) = (false, false)
    }

    private mutating func open(_ bracket: StaticString) {
        separate()
        json.raw(bracket)
        isFirst = true
    }

    private mutating func close(_ bracket: StaticString) {
        json.raw(bracket)
        isFirst = false
    }
}
