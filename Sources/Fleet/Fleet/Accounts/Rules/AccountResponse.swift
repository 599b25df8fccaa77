/// The response to a command about a driver's account.
package enum AccountResponse: Equatable, Sendable {
    /// Nil: the caller has no account.
    case sync(Account?)
    case registered(Account)
    case profile(Account, maskedTokens: [String])
    /// The string is the response's message.
    case decided(String, Account, notificationIDs: [String])
}

/// A request that reads drivers' accounts.
package enum AccountQuery: Equatable, Sendable {
    /// The caller's own account.
    case own(AccountCaller)
    /// The account of a driver, who is named by the account's id or as in channels.
    case one(driverID: String)
    /// The accounts of one status or of all, newest first. If `before` is the id of an account, only older ones are
    /// returned.
    case list(AccountStatus?, before: String?, limit: Int)
}

/// The result of an ``AccountQuery``.
package enum AccountResult: Equatable, Sendable {
    case own(Account, maskedTokens: [String])
    case one(Account)
    /// Newest first.
    case list([Account])
}
