import Primitives

/// Checks the fields of a form one after the other, and collects those that are wrong.
struct FieldCheck {
    private(set) var wrong: [RuleError.Field] = []

    mutating func refuse(_ path: String, _ text: String) { wrong.append(.init(path, text)) }

    /// A required text. White space around it is removed; lengths count Unicode scalars.
    /// - Parameter noun: what errors call the field.
    mutating func text(_ path: String, _ field: SentField<String>, _ noun: String, most: Int) -> String? {
        guard let text = required(path, field, noun) else { return nil }
        if text.unicodeScalars.count > most { refuse(path, "\(noun) must have at most \(most) characters") }
        if !text.isDisplayableName { refuse(path, "\(noun) must not contain control or format characters") }
        return text
    }

    mutating func name(_ field: SentField<String>) -> String? {
        guard let name = text("name", field, "Name", most: 100) else { return nil }
        if name.unicodeScalars.count < 2 { refuse("name", "Name must be at least 2 characters") }
        return name
    }

    mutating func email(_ field: SentField<String>) -> String? {
        optional("email", field, "Invalid email format") { $0.isEmailAddress }
    }

    /// An optional URL.
    mutating func url(_ path: String, _ field: SentField<String>) -> String? {
        optional(path, field, "Invalid URL") { $0.isWebAddress }
    }

    /// - Parameter missing: the text when there is no URL.
    mutating func requiredURL(_ path: String, _ field: SentField<String>, _ missing: String) -> String? {
        switch field {
        case .absent, .null, .value(""):
            refuse(path, missing)
            return nil
        case .unreadable, .value: return url(path, field)
        }
    }

    /// An optional date or date and time in ISO 8601, as it was sent.
    /// - Parameter now: if given, the date must be later than this day in UTC.
    mutating func date(_ path: String, _ field: SentField<String>, after now: Int64? = nil) -> String? {
        guard let text = optional(path, field, "Expected a date such as 2027-12-31", { Self.day(of: $0) != nil }),
            let day = Self.day(of: text)
        else { return nil }
        if let now, day <= Timestamp.iso8601(milliseconds: now).prefix(10) {
            refuse(path, "License expiry date must be in the future")
        }
        return text
    }

    /// The day in UTC, such as `2027-12-31`, of a date or a date and time. Nil if the text is neither.
    private static func day(of text: String) -> String? {
        let isDate = text.utf8.count == 10
        guard let time = Timestamp.milliseconds(iso8601: isDate ? text + "T00:00:00Z" : text) else { return nil }
        return String(Timestamp.iso8601(milliseconds: time).prefix(10))
    }

    mutating func vehicleNumber(_ field: SentField<String>, _ isVehicleNumber: (String) -> Bool) -> String? {
        guard let text = required("vehicleNumber", field, "Vehicle number") else { return nil }
        let bytes = text.utf8.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "-") }
            .map { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 ? $0 & ~0x20 : $0 }
        let number = String(decoding: bytes, as: UTF8.self)
        guard (1...20).contains(bytes.count), isVehicleNumber(number) else {
            refuse("vehicleNumber", "Invalid vehicle number format")
            return nil
        }
        return number
    }

    mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ path: String, _ field: SentField<String>, _ noun: String
    ) -> Choice? {
        if let text = field.value, let choice = Choice.allCases.first(where: { $0.rawValue.utf8.elementsEqual(text.utf8) }) {
            return choice
        }
        refuse(path, "\(noun) must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        return nil
    }

    mutating func documents(_ field: SentField<[RegistrationForm.Document]>) -> [VehicleDocument] {
        guard let sent = field.value, !sent.isEmpty else {
            refuse("vehicleDocuments", "At least one vehicle document is required")
            return []
        }
        guard sent.count <= RegistrationForm.documentsMax else {
            refuse("vehicleDocuments", "Expected at most \(RegistrationForm.documentsMax) vehicle documents")
            return []
        }
        var documents: [VehicleDocument] = []
        for (index, document) in sent.enumerated() {
            let path = "vehicleDocuments[\(index)]"
            let kind: VehicleDocument.Kind? = choice("\(path).type", document.kind, "Document type")
            let image = requiredURL("\(path).imageUrl", document.imageURL, "Invalid URL")
            let expiry = date("\(path).expiryDate", document.expiryDate)
            if let kind, let image { documents.append(VehicleDocument(kind: kind, imageURL: image, expiryDate: expiry)) }
        }
        return documents
    }

    private mutating func required(_ path: String, _ field: SentField<String>, _ noun: String) -> String? {
        switch field {
        case .value(let text):
            let trimmed = text.withoutSurroundingSpace
            if !trimmed.isEmpty { return trimmed }
            refuse(path, "\(noun) is required")
        case .absent, .null: refuse(path, "\(noun) is required")
        case .unreadable: refuse(path, "\(noun) must be a text")
        }
        return nil
    }

    private mutating func optional(
        _ path: String, _ field: SentField<String>, _ text: String, _ isRight: (String) -> Bool
    ) -> String? {
        switch field {
        case .absent, .null: return nil
        case .value(let sent):
            let value = sent.withoutSurroundingSpace
            if isRight(value) { return value }
        case .unreadable: break
        }
        refuse(path, text)
        return nil
    }
}
