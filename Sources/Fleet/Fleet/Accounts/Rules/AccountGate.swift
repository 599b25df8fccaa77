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
            case .own: return unknown(.unknown)
            case .approved, .any, .removal: return unknown(.forbidden)
            }
        }
        switch (entry.status, need) {
        case (.active, _), (.suspended, .removal): return nil
        case (.suspended, _): return suspended(reason: entry.reason)
        case (.pending, .approved):
            return RuleError(
                .forbidden, "Your registration is pending admin approval", summary: "Account pending approval")
        case (.rejected, .approved):
            return RuleError(.forbidden, entry.reason ?? "Your registration was rejected", summary: "Registration rejected")
        case (.pending, _), (.rejected, _): return nil
        }
    }

    private static func unknown(_ kind: RuleError.Kind) -> RuleError {
        RuleError(kind, "Driver account not found", summary: "Driver account not found")
    }

    private static func suspended(reason: String?) -> RuleError {
        RuleError(
            .forbidden, reason ?? "Your account has been suspended. Please contact support.", summary: "Account suspended")
    }
}
