import JSON

/// Redacts a person's data in JSON: sets given members to null, and replaces the person's names in the other strings,
/// except in ``machineReadable`` members.
struct NameRedaction {
    /// The text that replaces a name.
    private static let placeholder = Array("[erased]".utf8)
    /// The length of the shortest name to replace, in Unicode scalars. Shorter names would match inside unrelated
    /// words.
    private static let lengthMin = 3
    /// Members that programs evaluate, such as ids. Their values stay unchanged: if one of them contains a name, that
    /// is a coincidence.
    private static let machineReadable: [StaticString] = [
        "type", "event", "action", "status", "step", "notificationId", "correlationId", "driverId", "driver_id", "customerId",
        "bookingId", "bookingReference", "orderId", "orderRef", "reference", "routeId", "routeNumber", "dropId", "batchId",
        "batchNumber",
    ]

    /// The names in UTF-8, longest first: a name may be part of a longer one, which must be replaced as a whole.
    private let names: [[UInt8]]
    /// Returns the members of a nested object to set to null.
    private let fieldsOfNested: (UnsafeRawBufferPointer) throws -> [StaticString]
    private var json = JSONWriter(capacity: 512)
    private var hasChanged = false

    private init(_ names: [String], _ nested: @escaping (UnsafeRawBufferPointer) throws -> [StaticString]) {
        self.names = names.filter { $0.unicodeScalars.count >= Self.lengthMin }.map { Array($0.utf8) }
            .sorted { $0.count > $1.count }
        fieldsOfNested = nested
    }

    /// Redacts an object.
    /// - Parameters:
    ///   - fields: members of the outermost object to set to null.
    ///   - names: names to replace in strings, except in members that programs evaluate.
    ///   - nested: returns the members of a nested object to set to null.
    /// - Returns: the redacted object; nil if nothing changes or `object` is not a JSON object.
    static func apply(
        to object: [UInt8], clearing fields: [StaticString], names: [String],
        nested: @escaping (UnsafeRawBufferPointer) throws -> [StaticString] = { _ in [] }
    ) -> [UInt8]? {
        var redaction = NameRedaction(names, nested)
        do { try object.withUnsafeBytes { try redaction.writeObject($0, clearing: fields) } } catch { return nil }
        return redaction.hasChanged ? redaction.json.bytes : nil
    }

    private mutating func write(_ value: JSONSlice) throws {
        switch value.kind {
        case .object: try writeObject(value.raw, clearing: fieldsOfNested(value.raw))
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
            } else if Self.machineReadable.contains(where: key.equals) {
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
        let redacted = names.reduce(bytes) { Self.replace($1, in: $0) }
        guard redacted != bytes else { return json.raw(value.raw) }
        json.string(utf8: redacted)
        hasChanged = true
    }

    private static func replace(_ name: [UInt8], in text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var position = 0
        while position < text.count {
            if text[position...].starts(with: name) {
                result += placeholder
                position += name.count
            } else {
                result.append(text[position])
                position += 1
            }
        }
        return result
    }
}
