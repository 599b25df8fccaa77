import JSON

/// Takes somebody out of JSON: members that are his become null, and in other texts a mark stands for his name.
struct NameRedaction {
    /// What stands where a name stood.
    private static let placeholder = Array("[erased]".utf8)
    /// A shorter one would be found in every other word.
    private static let lengthMin = 3
    /// What programs read: a name that is found there is found by accident.
    private static let words: [StaticString] = [
        "type", "event", "action", "status", "step", "notificationId", "correlationId", "driverId", "driver_id", "customerId",
        "bookingId", "bookingReference", "orderId", "orderRef", "reference", "routeId", "routeNumber", "dropId", "batchId",
        "batchNumber",
    ]

    /// As bytes, and the longest first: one may be a part of another.
    private let names: [[UInt8]]
    /// The members of an object within the outermost that are his.
    private let inner: (UnsafeRawBufferPointer) throws -> [StaticString]
    private var json = JSONWriter(capacity: 512)
    private var hasChanged = false

    private init(_ names: [String], _ inner: @escaping (UnsafeRawBufferPointer) throws -> [StaticString]) {
        self.names = names.filter { $0.unicodeScalars.count >= Self.lengthMin }.map { Array($0.utf8) }
            .sorted { $0.count > $1.count }
        self.inner = inner
    }

    /// The object without him; nil when there is nothing to take out, and when it is no object.
    static func apply(
        to object: [UInt8], clearing fields: [StaticString], names: [String],
        inner: @escaping (UnsafeRawBufferPointer) throws -> [StaticString] = { _ in [] }
    ) -> [UInt8]? {
        var removal = NameRedaction(names, inner)
        do { try object.withUnsafeBytes { try removal.writeObject($0, clearing: fields) } } catch { return nil }
        return removal.hasChanged ? removal.json.bytes : nil
    }

    private mutating func write(_ value: JSONSlice) throws {
        switch value.kind {
        case .object: try writeObject(value.raw, clearing: inner(value.raw))
        case .array: try writeArray(value.raw)
        case .string: writeString(value)
        case .number, .boolean, .null: json.raw(value.raw)
        }
    }

    private mutating func writeObject(_ object: UnsafeRawBufferPointer, clearing fields: [StaticString]) throws {
        json.raw("{")
        var isFirst = true
        try JSONReader.object(object) { key, value in
            if !isFirst { json.raw(",") }
            isFirst = false
            json.raw(key.raw)
            json.raw(":")
            if value.kind != .null, fields.contains(where: key.equals) {
                json.raw("null")
                hasChanged = true
            } else if Self.words.contains(where: key.equals) {
                json.raw(value.raw)
            } else {
                try write(value)
            }
        }
        json.raw("}")
    }

    private mutating func writeArray(_ array: UnsafeRawBufferPointer) throws {
        json.raw("[")
        var isFirst = true
        try JSONReader.array(array) { value in
            if !isFirst { json.raw(",") }
            isFirst = false
            try write(value)
        }
        json.raw("]")
    }

    private mutating func writeString(_ value: JSONSlice) {
        guard !names.isEmpty, let text = value.string else { return json.raw(value.raw) }
        let bytes = Array(text.utf8)
        let rest = names.reduce(bytes) { Self.replace($1, in: $0) }
        guard rest != bytes else { return json.raw(value.raw) }
        json.string(utf8: rest)
        hasChanged = true
    }

    private static func replace(_ name: [UInt8], in text: [UInt8]) -> [UInt8] {
        var rest: [UInt8] = []
        var position = 0
        while position < text.count {
            if text[position...].starts(with: name) {
                rest += placeholder
                position += name.count
            } else {
                rest.append(text[position])
                position += 1
            }
        }
        return rest
    }
}
