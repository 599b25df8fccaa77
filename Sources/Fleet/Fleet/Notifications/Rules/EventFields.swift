import JSON

/// The fields of an event, in the order in which they are written. A nil value is written as null.
struct EventFields: ExpressibleByDictionaryLiteral {
    enum Value: ExpressibleByStringLiteral {
        case text(String?)
        case number(JSONNumber?)
        case texts([String])
        case integer(Int?)
        case flag(Bool)

        init(stringLiteral text: String) { self = .text(text) }
    }

    private(set) var members: [(name: String, value: Value)]

    init(dictionaryLiteral members: (String, Value)...) { self.members = members.map { ($0, $1) } }

    static func + (first: EventFields, second: EventFields) -> EventFields {
        var all = first
        all.members += second.members
        return all
    }
}

extension EventFields {
    /// The fields as a JSON object.
    var object: [UInt8] {
        var json = JSONWriter()
        json.object { $0.members(self) }
        return json.bytes
    }
}

extension JSONWriter {
    /// Writes the fields as members of an object. Returns the size of each value as JSON, in bytes.
    @discardableResult
    mutating func members(_ fields: EventFields) -> [(field: String, bytes: Int)] {
        fields.members.map { name, value in
            key(name)
            let start = bytes.count
            switch value {
            case .text(let text): optional(text)
            case .number(let number): optional(number)
            case .texts(let texts): array(texts)
            case .integer(let number): if let number { integer(number) } else { raw("null") }
            case .flag(let isOn): boolean(isOn)
            }
            return (name, bytes.count - start)
        }
    }
}
