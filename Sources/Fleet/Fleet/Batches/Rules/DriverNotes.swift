import Primitives

/// A driver's free text in a report.
package enum DriverNotes {
    /// The most characters, counted as Unicode scalars.
    package static let lengthMax = 200

    /// The notes; nil if there are none but white space.
    /// - Parameter wrong: gets the field if it is wrong.
    package static func read(_ field: SentField<String>, _ wrong: inout [RuleError.Field]) -> String? {
        switch field {
        case .absent, .null: return nil
        case .unreadable:
            wrong.append(.init("notes", "Notes must be a text"))
            return nil
        case .value(let text):
            if text.unicodeScalars.count > lengthMax {
                wrong.append(.init("notes", "Notes must have at most \(lengthMax) characters"))
            }
            return text.utf8.allSatisfy({ $0 <= UInt8(ascii: " ") }) ? nil : text
        }
    }

    /// The notes of a request without other fields.
    /// - Throws: `.invalid` (400) if they are wrong.
    package static func read(_ field: SentField<String>) throws(RuleError) -> String? {
        var wrong: [RuleError.Field] = []
        let notes = read(field, &wrong)
        guard wrong.isEmpty else { throw RuleError(fields: wrong) }
        return notes
    }
}
