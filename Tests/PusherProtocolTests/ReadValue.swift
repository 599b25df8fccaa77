import PusherProtocol

/// A member or an element as the reader handed it over, copied so that it outlives the text.
struct ReadValue: Equatable {
    /// As written, quotes included; empty for an element.
    var key: [UInt8] = []
    let kind: JSONSlice.Kind
    /// As written.
    let raw: [UInt8]
    /// Of a string.
    let text: String?

    init(key: JSONSlice? = nil, _ value: JSONSlice) {
        self.key = key.map { Array($0.raw) } ?? []
        kind = value.kind
        raw = Array(value.raw)
        text = value.string
    }

    /// The members of a text that must be one object.
    static func members(of text: [UInt8]) throws -> [ReadValue] {
        try text.withUnsafeBytes { bytes in
            var members: [ReadValue] = []
            try JSONReader.object(bytes) { members.append(ReadValue(key: $0, $1)) }
            return members
        }
    }

    /// The elements of a text that must be one array.
    static func elements(of text: [UInt8]) throws -> [ReadValue] {
        try text.withUnsafeBytes { bytes in
            var elements: [ReadValue] = []
            try JSONReader.array(bytes) { elements.append(ReadValue($0)) }
            return elements
        }
    }

    static func members(of text: String) throws -> [ReadValue] { try members(of: Array(text.utf8)) }

    static func elements(of text: String) throws -> [ReadValue] { try elements(of: Array(text.utf8)) }
}
