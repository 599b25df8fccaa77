/// Who sends a request.
package enum Sender: Equatable, Sendable {
    /// Anybody: the request needs no token.
    case anonymous
    /// An operator without a name, who has the token of the metrics, or is on this machine.
    case `operator`
    /// The person whom a token names.
    case person(Identity)

    /// Nil: anybody.
    package var role: Role? {
        switch self {
        case .anonymous: nil
        case .operator: .ops
        case .person(let identity): identity.role
        }
    }

    /// Names the sender in limits and log lines, as ``Identity/key`` does. Nil: anybody.
    package var key: String? {
        switch self {
        case .anonymous: nil
        case .operator: "ops:"
        case .person(let identity): identity.key
        }
    }

    package var person: Identity? { if case .person(let identity) = self { identity } else { nil } }

    /// The person who sends what only persons can send.
    package var identity: Identity {
        guard let person else { preconditionFailure("only who has a token can send this") }
        return person
    }
}
