import JSON

/// A member or an element as the reader passed it, copied so that it outlives the text.
package struct JSONValue: Equatable {
    /// As written, quotes included; empty for an element.
    package var key: [UInt8] = []
    package let kind: JSONSlice.Kind
    /// As written.
    package let raw: [UInt8]
    /// Of a string.
    package let text: String?

    package init(key: JSONSlice? = nil, _ value: JSONSlice) {
        self.key = key.map { Array($0.raw) } ?? []
        kind = value.kind
        raw = Array(value.raw)
        text = value.string
    }

    /// The members of a text that must be one object.
    package static func members(of text: [UInt8]) throws -> [JSONValue] {
        try text.withUnsafeBytes { bytes in
            var members: [JSONValue] = []
            try JSONReader.object(bytes) { members.append(JSONValue(key: $0, $1)) }
            return members
        }
    }

    /// The elements of a text that must be one array.
    package static func elements(of text: [UInt8]) throws -> [JSONValue] {
        try text.withUnsafeBytes { bytes in
            var elements: [JSONValue] = []
            try JSONReader.array(bytes) { elements.append(JSONValue($0)) }
            return elements
        }
    }

    package static func members(of text: String) throws -> [JSONValue] { try members(of: Array(text.utf8)) }

    package static func elements(of text: String) throws -> [JSONValue] { try elements(of: Array(text.utf8)) }
}
