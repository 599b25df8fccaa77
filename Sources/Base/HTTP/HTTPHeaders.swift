/// The header fields of a response. There are only a few, so searching them in an array is cheaper than hashing.
package struct HTTPHeaders: Equatable, Sendable, ExpressibleByDictionaryLiteral {
    /// One header field.
    package struct Field: Equatable, Sendable {
        package let name: String
        package let value: String
    }

    /// In the order in which they are written.
    package private(set) var fields: [Field]

    package init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    package var isEmpty: Bool { fields.isEmpty }

    /// The value of a field. Names are compared with their case: `Vary` is not `vary`. Setting a value replaces the
    /// field of that name, or appends a field if there is none; setting nil removes the field.
    package subscript(name: String) -> String? {
        get { fields.first { $0.name == name }?.value }
        set {
            let index = fields.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let value?): fields[index] = Field(name: name, value: value)
            case (let index?, nil): fields.remove(at: index)
            case (nil, let value?): fields.append(Field(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    /// These fields followed by those of `others`. A field of `others` replaces the field of the same name.
    package func adding(_ others: HTTPHeaders) -> HTTPHeaders {
        var headers = self
        for field in others.fields { headers[field.name] = field.value }
        return headers
    }
}
