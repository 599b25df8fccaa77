/// A write request that concerns drivers' accounts.
package enum AccountCommand: Equatable, Sendable {
    /// A driver's app has started.
    case sync(AccountCaller)
    case register(AccountCaller, RegistrationForm)
    case changeProfile(AccountCaller, ProfileForm)
    /// The actor, an admin, decides about the account of a driver, who is named by the account's id or as in channels.
    case decide(AccountAction, driverID: String)

    /// The command's name in metrics and in the operator's log.
    package var name: String {
        switch self {
        case .sync: "sync"
        case .register: "register"
        case .changeProfile: "profile"
        case .decide(let action, _): action.name
        }
    }

    /// The driver as in channels, or the account's id, for the log.
    package var driverID: String {
        switch self {
        case .sync(let caller), .register(let caller, _), .changeProfile(let caller, _): caller.personID
        case .decide(_, let id): id
        }
    }
}

/// The response to an executed ``AccountCommand``.
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
