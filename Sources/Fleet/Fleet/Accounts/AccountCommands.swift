import Access
import Primitives

/// A driver's app has started.
package struct SyncAccount: Command {
    package let caller: AccountCaller

    package init(_ caller: AccountCaller) { self.caller = caller }

    package var name: String { "sync" }
    package var subject: String { Identity(role: .driver, id: caller.personID).key }
    package var rows: Int { RowBound.account }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let accounts = transaction.stores.accounts
        guard let stored = try accounts.account(uid: caller.uid) else { return transaction.committed(.account(.sync(nil))) }
        // A suspension may have been committed while this command was in the queue.
        if let refusal = AccountGate.refusal(.any, stored.entry) { return .rejected(refusal) }
        var account = stored.loggingIn(now: transaction.now) ?? stored
        // The operator may have given the user a `driver_id` since.
        if !account.personID.hasSameBytes(as: caller.personID), try accounts.account(personID: caller.personID) == nil {
            account.personID = caller.personID
        }
        var result = transaction.result(.account(.sync(account)))
        if account != stored { try accounts.store(account) }
        if !account.personID.hasSameBytes(as: stored.personID) {
            result.effects.append(.accountChanged(AccountChange(account, formerDriverID: stored.personID)))
        }
        return try transaction.showingCard(.committed(result))
    }
}

package struct RegisterDriver: Command {
    package let caller: AccountCaller
    package let form: RegistrationForm

    package init(_ caller: AccountCaller, _ form: RegistrationForm) {
        self.caller = caller
        self.form = form
    }

    package var name: String { "register" }
    package var subject: String { Identity(role: .driver, id: caller.personID).key }
    package var rows: Int { RowBound.account }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let stores = transaction.stores
        let stored = try stores.accounts.account(uid: caller.uid)
        let isTaken = try isTaken(stores.accounts, except: stored)
        let reply = try transaction.plan { planner, context throws(RuleError) in
            if let stored, let refusal = AccountGate.refusal(.any, stored.entry) { throw refusal }
            let registration = try form.registration(
                hasPhone: caller.phone != nil, now: transaction.trustedNow,
                isVehicleNumber: stores.vehicleNumbers.accepts)
            let account = try Account.registering(
                caller, phone: caller.phone ?? "", registration, over: stored, isTaken: isTaken, now: context.now,
                using: &stores.random)
            return try planner.register(account, over: stored, context)
        }
        return try transaction.showingCard(reply)
    }

    /// Whether another account has the caller's phone or the caller's id in channels.
    private func isTaken(_ accounts: AccountTable, except stored: Account?) throws(DatabaseError) -> Bool {
        let byPhone = try caller.phone.flatMap { phone throws(DatabaseError) in try accounts.account(phone: phone) }
        let others = [byPhone, try accounts.account(personID: caller.personID)]
        return others.contains { $0 != nil && $0?.id != stored?.id }
    }
}

/// A driver changes the own profile.
package struct ChangeProfile: Command {
    package let caller: AccountCaller
    package let form: ProfileForm

    package init(_ caller: AccountCaller, _ form: ProfileForm) {
        self.caller = caller
        self.form = form
    }

    package var name: String { "profile" }
    package var subject: String { Identity(role: .driver, id: caller.personID).key }
    package var rows: Int { RowBound.account }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let stores = transaction.stores
        let stored = try stores.accounts.account(uid: caller.uid)
        if let refusal = AccountGate.refusal(.own, stored?.entry) { return .rejected(refusal) }
        guard let stored else { return .rejected(RuleError(.unknownAccount)) }
        let tokens = try stores.outbox.devices.maskedFCMTokens(ofDriver: stored.personID)
        let reply = try transaction.plan { planner, context throws(RuleError) in
            guard let account = try stored.applying(form, now: context.now) else {
                return DispatchPlan(response: .account(.profile(stored, maskedTokens: tokens)))
            }
            return planner.changeProfile(to: account, from: stored, maskedTokens: tokens, context)
        }
        return try transaction.showingCard(reply)
    }
}

/// The actor, an admin, decides about the account of a driver.
package struct DecideAccount: Command {
    package let action: AccountAction
    /// The account's id, or the driver's id in channels.
    package let driverID: String

    package init(_ action: AccountAction, driverID: String) {
        self.action = action
        self.driverID = driverID
    }

    package var name: String { action.name }
    package var priority: RequestPriority { .dispatch }
    package var subject: String { Identity(role: .driver, id: driverID).key }
    package var rows: Int { RowBound.account }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let stores = transaction.stores
        guard let stored = try stores.accounts.account(ofDriver: driverID) else { return .rejected(RuleError(.unknownAccount)) }
        var openJobs = 0
        var offline: Availability?
        if case .suspend = action {
            offline = try stores.outbox.availability.switchingOff(stored, transaction.now)
            openJobs =
                try stores.orders.open(driverID: stored.personID).count + stores.routes.open(driverID: stored.personID).count
        }
        let reply = try transaction.plan { [openJobs, offline] planner, context throws(RuleError) in
            try planner.decide(action, about: stored, openJobs: openJobs, offline: offline, context)
        }
        return try transaction.showingCard(reply)
    }
}

extension RowBound {
    fileprivate static let account = change + 4 * notification + push
}

extension Transaction {
    /// What customers see of the driver may come from the account.
    fileprivate func showingCard(_ reply: CommandReply) throws(DatabaseError) -> CommandReply {
        guard case .committed(var result) = reply else { return reply }
        for case .accountChanged(let change) in result.effects {
            result.effects.show(try stores.shownCard(ofDriver: change.driverID))
        }
        return .committed(result)
    }

    /// Executes what only drivers with an approved account may do.
    func withApprovedAccount(
        _ execute: (Account) throws(DatabaseError) -> CommandReply
    ) throws(DatabaseError) -> CommandReply {
        switch try stores.accounts.approvedAccount(of: actor) {
        case .failure(let refusal): .rejected(refusal)
        case .success(let account): try execute(account)
        }
    }
}
