import Primitives

/// How far a customer's registration is. The phone is verified: else there is no account.
package struct CustomerRegistration: Equatable, Sendable {
    package enum Step: String, CaseIterable, Sendable {
        case phoneVerified = "phone_verified"
        case basicDetails = "basic_details"
        case creditCard = "credit_card"
        case profileComplete = "profile_complete"
    }

    package var hasBasicDetails: Bool
    package var hasPayment: Bool

    package init(hasBasicDetails: Bool = false, hasPayment: Bool = false) {
        self.hasBasicDetails = hasBasicDetails
        self.hasPayment = hasPayment
    }

    package func isDone(_ step: Step) -> Bool {
        switch step {
        case .phoneVerified: true
        case .basicDetails: hasBasicDetails
        case .creditCard: hasPayment
        case .profileComplete: hasBasicDetails && hasPayment
        }
    }

    package var isComplete: Bool { isDone(.profileComplete) }

    /// The steps that are done, in their order.
    package var done: [Step] { Step.allCases.filter(isDone) }

    /// The first step that is not done; nil when all are.
    package var current: Step? { Step.allCases.first { !isDone($0) } }

    /// The step after ``current``; nil at the end.
    package var next: Step? {
        guard let current, let index = Step.allCases.firstIndex(of: current) else { return nil }
        return Step.allCases.dropFirst(index + 1).first
    }

    /// 25 to 100.
    package var percentage: Int { 100 * done.count / Step.allCases.count }

    /// Where the app goes after the sign-in.
    package var action: String {
        if !hasBasicDetails { return "navigate_to_basic_info" }
        return hasPayment ? "navigate_to_dashboard" : "navigate_to_credit_card"
    }

    /// - Throws: `.conflict` (409) if the basic details are missing.
    package func checkMayPay() throws(RuleError) {
        guard hasBasicDetails else { throw RuleError(.stepMissing) }
    }
}
