import JSON

/// Redacts a person's data in JSON: sets given members to null, and replaces the person's names and addresses in the
/// other strings, except in ``machineReadable`` members.
struct JSONRedaction {
    /// Members that programs evaluate, such as ids. Their values stay unchanged: if one of them contains a name, that
    /// is a coincidence.
    private static let machineReadable: [StaticString] = [
        "type", "event", "action", "status", "step", "notificationId", "correlationId", "driverId", "driver_id", "customerId",
        "bookingId", "bookingReference", "orderId", "orderRef", "reference", "routeId", "routeNumber", "dropId", "batchId",
        "batchNumber", "entityId", "code", "id", "notificationIds", "person", "customer", "drivers", "channel", "fields",
    ]

    /// What to redact.
    struct Rules {
        /// Members of the outermost object to set to null.
        var cleared: [StaticString] = []
        /// Members that are not searched, beside ``machineReadable``.
        var skipped: [StaticString] = []
        /// Whether only whole words are replaced.
        var wholeWords = false
        /// Returns the members of a nested object to set to null.
        var clearedInside: (UnsafeRawBufferPointer) throws -> [StaticString] = { _ in [] }
    }

    private let search: TextSearch
    private let rules: Rules
    private var json = JSONWriter(capacity: 512)
    private var hasChanged = false

    private init(_ search: TextSearch, _ rules: Rules) {
        self.search = search
        self.rules = rules
    }

    /// Redacts an object.
    /// - Returns: the redacted object; nil if nothing changes or `object` is not a JSON object.
    static func apply(to object: [UInt8], _ search: TextSearch, _ rules: Rules) -> [UInt8]? {
        var redaction = JSONRedaction(search, rules)
        do { try object.withUnsafeBytes { try redaction.writeObject($0, clearing: rules.cleared) } } catch { return nil }
        return redaction.hasChanged ? redaction.json.bytes : nil
    }

    private mutating func write(_ value: JSONSlice) throws {
        switch value.kind {
        case .object: try writeObject(value.raw, clearing: rules.clearedInside(value.raw))
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
            } else if Self.machineReadable.contains(where: key.equals) || rules.skipped.contains(where: key.equals) {
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
        guard let text = value.string, let redacted = search.replacing(in: Array(text.utf8), wholeWords: rules.wholeWords)
        else { return json.raw(value.raw) }
        json.string(utf8: redacted)
        hasChanged = true
    }
}
