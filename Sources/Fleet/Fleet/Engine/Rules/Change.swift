/// A change of an optional field by a request.
package enum Change<Value: Equatable & Sendable>: Equatable, Sendable {
    /// The request does not contain the field.
    case keep
    /// The request contains null: the field is set to nil.
    case clear
    /// The request contains a value.
    case set(Value)

    /// Whether the request contains the field.
    package var isPresent: Bool { self != .keep }

    /// Applies the change to the field's value.
    package func apply(to value: inout Value?) {
        switch self {
        case .keep: break
        case .clear: value = nil
        case .set(let new): value = new
        }
    }
}
