/// A field of a request's body, before it is checked.
package enum SentField<Value: Equatable & Sendable>: Equatable, Sendable {
    /// The request does not contain the field.
    case absent
    /// The request contains null.
    case null
    /// The field has another type.
    case unreadable
    case value(Value)

    /// Whether the request contains no value.
    package var isMissing: Bool { self == .absent || self == .null }

    /// Nil if the field is absent or null, or has another type.
    package var value: Value? { if case .value(let value) = self { value } else { nil } }
}
