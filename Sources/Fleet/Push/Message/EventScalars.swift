import JSON

/// The strings, numbers and booleans of an event's data, in the order of the data. Null, objects and arrays are left
/// out: devices do not get them.
struct EventScalars {
    /// Names and values as devices get them: numbers as written, booleans as `true` or `false`. If a name is repeated,
    /// its first value counts.
    private(set) var fields: [PushMessage.Field] = []

    /// - Parameter data: a JSON object; anything else has no scalars.
    init(of data: [UInt8]) {
        do {
            try data.withUnsafeBytes { bytes in
                try JSONReader.object(bytes) { key, value in
                    guard fields.count < Self.countMax, let text = Self.text(of: value), let name = key.string,
                        self[name] == nil
                    else { return }
                    fields.append(PushMessage.Field(name, text))
                }
            }
        } catch {
            fields = []
        }
    }

    subscript(name: String) -> String? { fields.first { $0.isNamed(name) }?.value }

    /// Maximum number of fields read. Fewer than 128 fields fit into a push, so no field that fits is lost.
    private static let countMax = 256

    private static func text(of value: JSONSlice) -> String? {
        switch value.kind {
        case .string: value.string
        case .number, .boolean: String(decoding: value.raw, as: UTF8.self)
        case .null, .object, .array: nil
        }
    }
}
