import Primitives

extension DispatchPlanner {
    /// Plans a registration. Dispatchers hear of it, because they have to approve it.
    /// - Parameters:
    ///   - stored: the driver's account before; nil if there was none.
    ///   - account: the account after.
    package mutating func register(
        _ account: Account, over stored: Account?, _ context: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        let registered = EventDraft(
            .admin, "driver-registered",
            [
                "driverId": .text(account.personID), "name": .text(account.registration.name),
                "phone": .text(account.phone), "vehicleNumber": .text(account.registration.vehicleNumber),
                "createdAt": .text(Timestamp.iso8601(milliseconds: account.createdAt)),
            ])
        return try planChange(of: stored, to: account, "register", [registered], context) { _ in
            .account(.registered(account))
        }
    }

    /// Plans an admin's decision about a driver's account.
    /// - Parameters:
    ///   - openJobs: how many jobs the driver has, for dispatchers who suspend the driver.
    ///   - offline: the driver's switch once it is off; nil if it stays as it is.
    /// - Throws: `.conflict` (409) if the state does not allow the decision, or the account has another version.
    package mutating func decide(
        _ action: AccountAction, about stored: Account, openJobs: Int, offline: Availability? = nil, _ context: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        try context.checkVersion(stored.version, of: "account of driver \(stored.personID)")
        guard let account = try stored.applying(action, now: context.now) else {
            let message = action.message(isRepetition: true)
            return DispatchPlan(response: .account(.decided(message, stored, notificationIDs: [])))
        }
        let events =
            Self.events(of: action, on: account, openJobs: openJobs)
            + (offline.map { [$0.draft(at: context.now)] } ?? [])
        var plan = try planChange(of: stored, to: account, action.name, events, context) { ids in
            .account(.decided(action.message(isRepetition: false), account, notificationIDs: ids))
        }
        plan.availability = offline
        return plan
    }

    private static func events(of action: AccountAction, on account: Account, openJobs: Int) -> [EventDraft] {
        let driver: EventFields = ["driverId": .text(account.personID)]
        switch action {
        case .approve: return [EventDraft(.driver(account.personID), "driver-approved", driver)]
        case .reject(let reason):
            return [EventDraft(.driver(account.personID), "driver-rejected", driver + ["reason": .text(reason)])]
        case .suspend(let reason):
            return [
                EventDraft(
                    .admin, "driver-suspended", driver + ["reason": .text(reason), "openJobs": .integer(openJobs)])
            ]
        case .reinstate: return []
        }
    }

    /// Plans a driver's change of the own profile, which causes no events.
    package func changeProfile(
        to account: Account, from stored: Account, maskedTokens: [String], _ context: CommandContext
    ) -> DispatchPlan {
        var plan = DispatchPlan(response: .account(.profile(account, maskedTokens: maskedTokens)))
        plan.account = account
        plan.audit = context.makeAuditEntry(
            "profile", .account(account.id.text), from: .init(stored), to: .init(account))
        return plan
    }

    private mutating func planChange(
        of stored: Account?, to account: Account, _ action: String, _ events: [EventDraft], _ context: CommandContext,
        response: ([String]) -> CommandResponse
    ) throws(RuleError) -> DispatchPlan {
        let subject = AuditEntry.Subject.account(account.id.text)
        let (notifications, pushes) = try makeNotifications(
            events, of: subject, .account, presentFields: ["name", "reason"], context)
        var plan = DispatchPlan(response: response(notifications.map(\.id)))
        plan.account = account
        plan.notifications = notifications
        plan.pushes = pushes
        plan.audit = context.makeAuditEntry(
            action, subject, from: stored.map { .init($0) }, to: .init(account), reason: account.reason)
        return plan
    }
}
