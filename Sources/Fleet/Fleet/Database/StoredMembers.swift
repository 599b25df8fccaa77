import JSON

/// The texts and numbers of a JSON object that the store has written itself. Other members are left out.
struct StoredMembers {
    private var texts: [String: String] = [:]
    private var numbers: [String: JSONNumber] = [:]

    /// Nil if the bytes are no JSON object.
    init?(_ json: [UInt8]) {
        guard let members = try? json.withUnsafeBytes({ try StoredMembers(object: $0) }) else { return nil }
        self = members
    }

    private init(object: UnsafeRawBufferPointer) throws {
        try JSONReader.object(object) { key, value in
            guard let name = key.string else { return }
            switch value.kind {
            case .string: texts[name] = value.string
            case .number: numbers[name] = JSONNumber(text: String(decoding: value.raw, as: UTF8.self))
            case .object, .array, .boolean, .null: break
            }
        }
    }

    /// The objects of an array; nil if the bytes are no array of objects.
    static func array(_ json: [UInt8]) -> [StoredMembers]? {
        var elements: [StoredMembers] = []
        do {
            try json.withUnsafeBytes { bytes in
                try JSONReader.array(bytes) { elements.append(try StoredMembers(object: $0.raw)) }
            }
        } catch { return nil }
        return elements
    }

    func text(_ name: String) -> String? { texts[name] }

    func number(_ name: String) -> JSONNumber? { numbers[name] }
}
