import JSON

/// A copy of a member or element that ``JSONReader`` passes to its closure. Unlike the original, the copy is valid
/// after the closure has returned.
package struct JSONValue: Equatable {
    /// The member's name as written, with quotes; empty for an element.
    package var key: [UInt8] = []
    /// The kind of the value.
    package let kind: JSONSlice.Kind
    /// The value as written.
    package let raw: [UInt8]
    /// The decoded value of a string; nil for other kinds.
    package let text: String?

    /// Copies the key and value.
    package init(key: JSONSlice? = nil, _ value: JSONSlice) {
        self.key = key.map { Array($0.raw) } ?? []
        kind = value.kind
        raw = Array(value.raw)
        text = value.string
    }

    /// The members of a JSON object.
    /// - Throws: ``JSONError`` if `json` is anything else.
    package static func members(of json: [UInt8]) throws -> [JSONValue] {
        try json.withUnsafeBytes { bytes in
            var members: [JSONValue] = []
            try JSONReader.object(bytes) { members.append(JSONValue(key: $0, $1)) }
            return members
        }
    }

    /// The elements of a JSON array.
    /// - Throws: ``JSONError`` if `json` is anything else.
    package static func elements(of json: [UInt8]) throws -> [JSONValue] {
        try json.withUnsafeBytes { bytes in
            var elements: [JSONValue] = []
            try JSONReader.array(bytes) { elements.append(JSONValue($0)) }
            return elements
        }
    }

    /// The members of a JSON object, given as a string.
    package static func members(of json: String) throws -> [JSONValue] { try members(of: Array(json.utf8)) }

    /// The elements of a JSON array, given as a string.
    package static func elements(of json: String) throws -> [JSONValue] { try elements(of: Array(json.utf8)) }
}
