/// What a request does to an optional field.
package enum Change<Value: Equatable & Sendable>: Equatable, Sendable {
    /// The request does not contain the field.
    case keep
    /// JSON's null.
    case clear
    case set(Value)

    /// Whether the request contains the field.
    var isPresent: Bool { self != .keep }

    package func applied(to value: inout Value?) {
        switch self {
        case .keep: break
        case .clear: value = nil
        case .set(let new): value = new
        }
    }
}
