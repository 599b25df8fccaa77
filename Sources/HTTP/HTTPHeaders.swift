/// Header fields of a response, in the order they are written. A response has few: a search is cheaper than hashing.
package struct HTTPHeaders: Equatable, Sendable, ExpressibleByDictionaryLiteral {
    /// One header field.
    package struct Field: Equatable, Sendable {
        package let name: String
        package let value: String
    }

    /// In the order they are written.
    package private(set) var fields: [Field]

    package init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    package var isEmpty: Bool { fields.isEmpty }

    /// The value of a field. Names are compared as written. Setting replaces a field of the same name, else appends
    /// one; nil removes it.
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

    /// These fields, then those of `others`. Fields of `others` replace fields of the same name.
    package func adding(_ others: HTTPHeaders) -> HTTPHeaders {
        var headers = self
        for field in others.fields { headers[field.name] = field.value }
        return headers
    }
}
