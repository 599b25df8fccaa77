import Primitives

/// What a command has changed about a driver's account, for the gateway's memory.
package struct AccountChange: Equatable, Sendable {
    /// The Firebase user.
    package let uid: String
    /// The driver as in channels.
    package let driverID: String
    /// The driver as in channels before, if that was another id.
    package let formerDriverID: String?
    /// Nil: the account has ended.
    package let entry: AccountEntry?

    /// - Parameter formerDriverID: the driver as in channels before; nil if there was no account.
    package init(_ account: Account, formerDriverID: String? = nil) {
        (uid, driverID, entry) = (account.uid, account.personID, account.entry)
        self.formerDriverID = formerDriverID.flatMap { $0.hasSameBytes(as: account.personID) ? nil : $0 }
    }

    init(uid: String, driverID: String, formerDriverID: String?, entry: AccountEntry?) {
        (self.uid, self.driverID, self.formerDriverID, self.entry) = (uid, driverID, formerDriverID, entry)
    }

    /// The account has ended.
    init(ended account: Account) {
        (uid, driverID, entry) = (account.uid, account.personID, nil)
        formerDriverID = nil
    }
}
