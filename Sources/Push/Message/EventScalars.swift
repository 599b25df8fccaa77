import JSON

/// The texts, numbers and truth values of an event's data, in its order. What is null, an object or an array is not here: for
/// a phone it is missing.
struct EventScalars {
    /// As phones get them: a number as it was written, `true` or `false`. Of several of one name, the first.
    private(set) var fields: [PushMessage.Field] = []

    /// - Parameter data: a JSON object; if it is none, there are no scalars in it.
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

    /// Those that follow are left out: not half as many fit into a notification, unless they are made to.
    private static let countMax = 256

    private static func text(of value: JSONSlice) -> String? {
        switch value.kind {
        case .string: value.string
        case .number, .boolean: String(decoding: value.raw, as: UTF8.self)
        case .null, .object, .array: nil
        }
    }
}
