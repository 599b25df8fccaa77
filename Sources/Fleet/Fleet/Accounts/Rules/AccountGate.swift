import Primitives

/// Which accounts an endpoint is for. Concerns only drivers whose tokens are Firebase's.
package enum AccountNeed: CaseIterable, Sendable {
    /// Approved drivers.
    case approved
    /// Drivers with an account that is not suspended.
    case any
    /// As ``any``, for the driver's own account: without one there is nothing, which is 404.
    case own
    /// Also users without account.
    case anyOrNone
    /// Removal of a device: also for suspended drivers, whose phones must not get more pushes.
    case removal
}

/// Decides per request whether the state of a driver's account allows it.
package enum AccountGate {
    /// Why an endpoint refuses a driver; nil if it does not.
    /// - Parameter entry: nil if the driver has no account.
    package static func refusal(_ need: AccountNeed, _ entry: AccountEntry?) -> RuleError? {
        guard let entry else {
            switch need {
            case .anyOrNone: return nil
            case .own: return RuleError(.unknownAccount)
            case .approved, .any, .removal: return RuleError(.noAccount)
            }
        }
        switch (entry.status, need) {
        case (.active, _), (.suspended, .removal): return nil
        case (.suspended, _):
            return RuleError(
                .suspendedAccount, entry.reason ?? "Your account has been suspended. Please contact support.")
        case (.pending, .approved): return RuleError(.pendingAccount)
        case (.rejected, .approved): return RuleError(.rejectedAccount, entry.reason ?? "Your registration was rejected")
        case (.pending, _), (.rejected, _): return nil
        }
    }
}
