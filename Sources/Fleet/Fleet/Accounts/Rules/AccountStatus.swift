import Primitives

/// The state of a driver's account, as apps know it.
package enum AccountStatus: String, CaseIterable, Sendable {
    case pending = "PENDING"
    /// The account is approved.
    case active = "ACTIVE"
    case rejected = "REJECTED"
    case suspended = "SUSPENDED"

    /// `approvalStatus` in answers. A suspended account stays approved.
    package var approval: String {
        switch self {
        case .pending: "PENDING"
        case .active, .suspended: "APPROVED"
        case .rejected: "REJECTED"
        }
    }
}

/// What an admin decides about an account.
package enum AccountAction: Equatable, Sendable {
    case approve
    case reject(reason: String)
    case suspend(reason: String?)
    case reinstate

    /// The action's name in the audit log.
    package var name: String {
        switch self {
        case .approve: "approve"
        case .reject: "reject"
        case .suspend: "suspend"
        case .reinstate: "reinstate"
        }
    }

    /// The state after the action. Nil if the account already has the action's result.
    /// - Throws: `.conflict` (409) if the state does not allow the action.
    package func result(from status: AccountStatus) throws(RuleError) -> AccountStatus? {
        switch (self, status) {
        case (.approve, .pending), (.approve, .rejected), (.reinstate, .suspended): return .active
        case (.reject, .pending): return .rejected
        case (.suspend, .active): return .suspended
        case (.approve, .active), (.reinstate, .active), (.reject, .rejected), (.suspend, .suspended): return nil
        case (.approve, .suspended), (.reject, .active), (.reject, .suspended), (.suspend, .pending),
            (.suspend, .rejected), (.reinstate, .pending), (.reinstate, .rejected):
            throw RuleError(.wrongAccountStatus, name, status.rawValue)
        }
    }

    /// The message of the response.
    package func message(isRepetition: Bool) -> String {
        let done =
            switch self {
            case .approve: "approved"
            case .reject: "rejected"
            case .suspend: "suspended"
            case .reinstate: isRepetition ? "active" : "reinstated"
            }
        return isRepetition ? "Driver is already \(done)" : "Driver \(done)"
    }

    /// The longest reason, in Unicode scalars.
    package static let reasonLengthMax = 500
}
