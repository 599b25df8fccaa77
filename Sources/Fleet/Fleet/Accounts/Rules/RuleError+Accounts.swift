import Primitives

// Why calls of drivers are refused because of their accounts. Apps show the texts.

extension RuleError.Code {
    /// There is no such account.
    package static let unknownAccount = Self(
        "unknownAccount", .unknown, "Driver account not found", summary: "Driver account not found")
    /// The driver has no account, and the endpoint needs one.
    package static let noAccount = Self(
        "noAccount", .forbidden, "Driver account not found", summary: "Driver account not found")
    package static let pendingAccount = Self(
        "pendingAccount", .forbidden, "Your registration is pending admin approval", summary: "Account pending approval")
    /// The text is the admin's reason.
    package static let rejectedAccount = Self("rejectedAccount", .forbidden, "{}", summary: "Registration rejected")
    /// The text is the admin's reason.
    package static let suspendedAccount = Self("suspendedAccount", .forbidden, "{}", summary: "Account suspended")
    /// The driver has registered before, or the phone is taken.
    package static let accountExists = Self(
        "accountExists", .conflict, "A driver account with this phone number already exists",
        summary: "Driver account already exists")
    /// The account's state does not allow an admin's decision.
    package static let wrongAccountStatus = Self(
        "wrongAccountStatus", .conflict, "Cannot {} a driver whose account is {}")
}
