import Access
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

/// Executes the commands that concern drivers' accounts.
extension CommandExecutor {
    func execute(
        _ request: AccountCommand, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        let reply =
            switch request {
            case .sync(let caller): try sync(caller, command, context.now)
            case .register(let caller, let form): try register(caller, form, command, context)
            case .changeProfile(let caller, let form): try changeProfile(of: caller, form, command, context)
            case .decide(let action, let id): try decide(action, aboutDriver: id, command, context)
            }
        guard case .committed(var result) = reply, let driver = result.account?.driverID else { return reply }
        // What customers see of the driver may come from the account.
        result.card = try shownCard(ofDriver: driver)
        return .committed(result)
    }

    private func sync(_ caller: AccountCaller, _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandReply {
        guard let stored = try accounts.account(uid: caller.uid) else {
            return .committed(result(.account(.sync(nil)), of: command))
        }
        // A suspension may have been committed while this command was in the queue.
        if let refusal = AccountGate.refusal(.any, stored.entry) { return .rejected(refusal) }
        var account = stored.loggingIn(now: now) ?? stored
        // The operator may have given the user a `driver_id` since.
        if !account.personID.hasSameBytes(as: caller.personID), try accounts.account(personID: caller.personID) == nil {
            account.personID = caller.personID
        }
        var result = result(.account(.sync(account)), of: command)
        if account != stored { try accounts.store(account) }
        if !account.personID.hasSameBytes(as: stored.personID) {
            result.account = AccountChange(account, formerDriverID: stored.personID)
        }
        return .committed(result)
    }

    private func register(
        _ caller: AccountCaller, _ form: RegistrationForm, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        let stored = try accounts.account(uid: caller.uid)
        let isTaken = try isTaken(caller, except: stored)
        let today = context.now - clockLead
        return try execute(command, context.now) { planner throws(RuleError) in
            if let stored, let refusal = AccountGate.refusal(.any, stored.entry) { throw refusal }
            let registration = try form.registration(
                hasPhone: caller.phone != nil, now: today, isVehicleNumber: vehicleNumbers.accepts)
            let account = try Account.registering(
                caller, phone: caller.phone ?? "", registration, over: stored, isTaken: isTaken, now: context.now,
                using: &random)
            return try planner.register(account, over: stored, context)
        }
    }

    /// Whether another account has the caller's phone or the caller's id in channels.
    private func isTaken(_ caller: AccountCaller, except stored: Account?) throws(DatabaseError) -> Bool {
        let byPhone = try caller.phone.map { phone throws(DatabaseError) in try accounts.account(phone: phone) } ?? nil
        let others = [byPhone, try accounts.account(personID: caller.personID)]
        return others.contains { $0 != nil && $0?.id != stored?.id }
    }

    private func changeProfile(
        of caller: AccountCaller, _ form: ProfileForm, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        let stored = try accounts.account(uid: caller.uid)
        if let refusal = AccountGate.refusal(.own, stored?.entry) { return .rejected(refusal) }
        guard let stored else { return .rejected(RuleError(.unknownAccount)) }
        let tokens = try outbox.devices.maskedFCMTokens(ofDriver: stored.personID)
        return try execute(command, context.now) { planner throws(RuleError) in
            guard let account = try stored.applying(form, now: context.now) else {
                return DispatchPlan(response: .account(.profile(stored, maskedTokens: tokens)))
            }
            return planner.changeProfile(to: account, from: stored, maskedTokens: tokens, context)
        }
    }

    private func decide(
        _ action: AccountAction, aboutDriver id: String, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        guard let stored = try accounts.account(ofDriver: id) else { return .rejected(RuleError(.unknownAccount)) }
        var openJobs = 0
        var offline: Availability?
        if case .suspend = action {
            offline = try switchingOff(stored, context.now)
            openJobs = try orders.open(driverID: stored.personID).count + routes.open(driverID: stored.personID).count
        }
        return try execute(command, context.now) { [openJobs, offline] planner throws(RuleError) in
            try planner.decide(action, about: stored, openJobs: openJobs, offline: offline, context)
        }
    }

    /// Calls `each` for every account. Used at the start.
    package func eachAccount(_ each: (Account) -> Void) throws(DatabaseError) { try accounts.each(each) }
}

extension Account {
    /// What an erasure searches for: the texts that identify the driver.
    var identifyingTexts: [String] {
        let urls = [registration.profileImage, registration.licenseImageURL] + registration.vehicleDocuments.map(\.imageURL)
        let texts = [registration.name, registration.email, phone, registration.licenseNumber, registration.vehicleNumber]
        return (texts + urls).compactMap { $0 }
    }
}

extension DeviceTable {
    /// The tokens of a driver's devices that get pushes from FCM, shortened.
    func maskedFCMTokens(ofDriver id: String) throws(DatabaseError) -> [String] {
        try devices(of: Identity(role: .driver, id: id).key).filter { $0.provider == .fcm }.map(\.maskedToken)
    }
}
