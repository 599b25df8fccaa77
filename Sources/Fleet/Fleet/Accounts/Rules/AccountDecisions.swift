import Primitives

/// A Firebase user who calls.
package struct AccountCaller: Equatable, Sendable {
    package let uid: String
    /// The driver's id in channels and jobs: the token's `driver_id`, else the uid.
    package let personID: String
    /// See ``DriverPhone``. Nil: the token has no phone number.
    package let phone: String?

    package init(uid: String, personID: String, phone: String?) {
        self.uid = uid
        self.personID = personID
        self.phone = phone
    }
}

extension Account {
    /// Registers a driver, or a rejected one anew.
    /// - Parameters:
    ///   - stored: the caller's account, if there is one.
    ///   - isTaken: whether another account has the phone or the driver's id.
    ///   - registration: as ``RegistrationForm/registration(hasPhone:now:isVehicleNumber:)`` returns it.
    ///   - phone: the caller's.
    /// - Throws: `.conflict` (409) if the driver has registered before, or the phone is taken; `.forbidden` (403) if the
    ///   account is suspended.
    package static func registering(
        _ caller: AccountCaller, phone: String, _ registration: Registration, over stored: Account?, isTaken: Bool,
        now: Int64, using random: inout some RandomNumberGenerator
    ) throws(RuleError) -> Account {
        if let stored, let refusal = AccountGate.refusal(.any, stored.entry) { throw refusal }
        guard stored.map({ $0.status == .rejected }) ?? true, !isTaken else {
            throw RuleError(.accountExists)
        }
        guard var account = stored else {
            return Account(
                id: .random(using: &random), uid: caller.uid, personID: caller.personID, phone: phone, registration,
                createdAt: now)
        }
        account.personID = caller.personID
        account.phone = phone
        account.registration = registration
        account.status = .pending
        account.reason = nil
        account.change(now)
        return account
    }

    /// Applies an admin's decision.
    /// - Returns: nil if the account already has its result.
    /// - Throws: `.conflict` (409) if the state does not allow it.
    package func applying(_ action: AccountAction, now: Int64) throws(RuleError) -> Account? {
        guard let status = try action.result(from: status) else { return nil }
        var account = self
        account.status = status
        account.reason =
            switch action {
            case .reject(let reason): reason
            case .suspend(let reason): reason
            case .approve, .reinstate: nil
            }
        account.change(now)
        return account
    }

    /// Changes the driver's profile.
    /// - Returns: nil if nothing changes.
    /// - Throws: `.invalid` (400) with all fields that are wrong.
    package func applying(_ form: ProfileForm, now: Int64) throws(RuleError) -> Account? {
        var account = self
        try form.apply(to: &account.registration)
        guard account.registration != registration else { return nil }
        account.change(now)
        return account
    }

    /// Milliseconds between two stored times of a login.
    private static let loginInterval: Int64 = 60_000

    /// Records that an approved driver's app has started.
    /// - Returns: nil if nothing is to be stored: the account is not approved, or the last login is less than a minute ago.
    package func loggingIn(now: Int64) -> Account? {
        // A time ahead stems from before a clock correction.
        guard status == .active, lastLoginAt.map({ !(0..<Self.loginInterval).contains(now - $0) }) ?? true else { return nil }
        var account = self
        account.lastLoginAt = now
        return account
    }

    private mutating func change(_ now: Int64) {
        version += 1
        updatedAt = now
    }
}
