import Access
import Primitives
import PusherAPI

/// Decides what a driver may do by the state of the driver's account. It checks only Firebase users: anybody can
/// become one, while another issuer gives tokens to its own drivers only.
package struct AccountCheck: Sendable {
    private let countryCode: String
    private let entry: @Sendable (_ uid: String) -> AccountEntry?
    private let seen: @Sendable (_ driverID: String) -> Void

    /// - Parameters:
    ///   - countryCode: of the fleet's phone numbers, such as `+91`.
    ///   - seen: gets the id of each driver who makes a request.
    ///   - entry: the account of a Firebase user, from memory.
    ///
    /// The closures are called on the loops' threads.
    package init(
        countryCode: String, seen: @escaping @Sendable (_ driverID: String) -> Void = { _ in },
        entry: @escaping @Sendable (_ uid: String) -> AccountEntry?
    ) {
        self.seen = seen
        self.countryCode = countryCode
        self.entry = entry
    }

    /// The identity with which a sender may use an endpoint. A `role` claim of the token decides the role, otherwise the
    /// account does, otherwise the configuration.
    /// - Throws: `.forbidden` (403), or `.unknown` (404), if the account's state does not allow it.
    func admit(_ identity: Identity, to need: AccountNeed) throws(RuleError) -> Identity {
        let admitted = try admitted(identity, to: need)
        if admitted.role == .driver { seen(admitted.id) }
        return admitted
    }

    private func admitted(_ identity: Identity, to need: AccountNeed) throws(RuleError) -> Identity {
        guard let user = identity.firebase else { return identity }
        if user.namesRole, identity.role != .driver { return identity }
        let entry = entry(user.uid)
        if entry == nil, identity.role != .driver, need != .anyOrNone, need != .own {
            guard user.hasDefaultRole else { throw RuleError(.forbidden, "The user has no role and no account") }
            return identity
        }
        if let refusal = AccountGate.refusal(need, entry) { throw refusal }
        return identity.asDriver(user)
    }

    /// Why the sender may subscribe to no other than the own channel; nil for all others.
    func restriction(of identity: Identity) -> RuleError? {
        guard let user = identity.firebase, identity.role == .driver else { return nil }
        return AccountGate.refusal(.approved, entry(user.uid))
    }

    /// The sender of a request about the own account.
    /// - Throws: ``APIError`` with 403 if the token is not Firebase's.
    func caller(_ identity: Identity) throws(APIError) -> AccountCaller {
        guard let user = identity.firebase else { throw APIError(403, "Requires a Firebase token") }
        return AccountCaller(
            uid: user.uid, personID: user.driverID,
            phone: user.phone.map { DriverPhone.local($0, countryCode: countryCode) })
    }
}
