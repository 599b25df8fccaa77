extension DispatchPlanner {
    /// What an admin's deed makes of an order; nil is one that nobody has named yet.
    package mutating func plan(
        _ deed: OrderAction, on order: Order?, _ occasion: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        var after = order ?? Order(code: deed.code)
        deed.changes.apply(to: &after)
        try deed.check(after, occasion.rules)
        try occasion.checkVersion(order?.version ?? 0, of: after.label)
        let outcome = try deed.apply(on: &after)

        let subject = AuditEntry.Subject.order(deed.code)
        let drafts = outcome.happening?.events(of: after, at: occasion.now) ?? []
        let told = try makeNotifications(drafts, of: subject, to: .order(after), said: deed.presentFields, occasion)
        // Whatever is done counts as a change, even if the order looks the same after it; what is only stored must differ.
        let isChanged = order.map { outcome.happening != nil || !after.isSame(as: $0) } ?? true
        if isChanged { after.version += 1 }
        var decision = DispatchPlan(
            answer: DispatchPlan.response(outcome.message, told.notifications, occasion.correlationID, data: after.member))
        guard isChanged else { return decision }
        decision.order = after
        decision.tell(told)
        decision.audit = occasion.audit(
            deed.kind.rawValue, subject, before: order?.auditState, after: after.auditState, reason: deed.reason,
            details: deed.auditDetails(order))
        return decision
    }
}

extension OrderAction {
    /// Changes state and driver as the deed wants, and says what happened: nothing, where fields are all that is stored.
    fileprivate func apply(on order: inout Order) throws(RuleError) -> (message: String, happening: OrderTransition?) {
        // What is only stored may come after the end.
        if kind != .update { try order.status.checkOpen(order.label) }
        let driver = order.driverID ?? driverID
        switch kind {
        case .update:
            return ("Order updated", nil)

        case .assign where order.driverID.isSame(as: driverID):
            order.driverName = driverName ?? order.driverName
            return ("Driver already assigned", nil)

        case .assign:
            let new = try driverToAssign()
            let former = order.driverID
            order.driverID = new
            order.driverName = driverName
            order.status = .assigned
            return (
                former == nil ? "Driver assigned" : "Driver reassigned",
                .assigned(to: new, name: driverName, insteadOf: former)
            )

        case .unassign:
            guard let driver else { throw RuleError(.conflict, "\(order.label) has no driver") }
            order.unassign()
            return ("Order unassigned", .unassigned(from: driver, reason: reason))

        case .removeDriver:
            guard let driver else { throw RuleError(.conflict, "\(order.label) has no driver") }
            order.unassign()
            return ("Driver removed", .driverRemoved(driver, reason: reason))

        case .cancel:
            order.status = .cancelled
            return ("Order cancelled", .cancelled(driver: driver, reason: reason))
        }
    }

    private func driverToAssign() throws(RuleError) -> String {
        guard let driverID else { throw RuleError(.invalid, "driverId is required") }
        return driverID
    }

    /// Refuses what makes no sense whatever the state.
    fileprivate func check(_ order: Order, _ rules: NotificationRules) throws(RuleError) {
        if kind == .assign { _ = try driverToAssign() }
        let stored = kind == .assign ? ["driverName"] : []
        try EventSize.check(
            order, driverName: kind == .assign ? driverName ?? order.driverName : order.driverName,
            said: changes.presentFields + (driverName == nil ? [] : stored), rules)
    }

    /// The fields that this request brought.
    fileprivate var presentFields: [String] {
        changes.presentFields + (driverName == nil ? [] : ["driverName"]) + (reason == nil ? [] : ["reason"])
    }

    /// Which fields were said, and which driver was meant where the state named none: values stay out of the audit.
    fileprivate func auditDetails(_ before: Order?) -> EventFields {
        var details: EventFields = changes.presentFields.isEmpty ? [:] : ["fields": .texts(changes.presentFields)]
        if before?.driverID == nil, let driverID, kind != .assign, kind != .update {
            details = details + ["driverId": .text(driverID)]
        }
        return details
    }
}

extension Order {
    /// Open to all drivers again.
    fileprivate mutating func unassign() {
        status = .available
        driverID = nil
        driverName = nil
    }
}

extension OrderChanges {
    /// The names of the fields that are set or cleared.
    fileprivate var presentFields: [String] {
        [
            bookingID.isPresent ? "bookingId" : nil, bookingReference.isPresent ? "bookingReference" : nil,
            customerID.isPresent ? "customerId" : nil, customerName.isPresent ? "customerName" : nil,
            pickupAddress.isPresent ? "pickupAddress" : nil, dropoffAddress.isPresent ? "dropoffAddress" : nil,
            scheduledAt.isPresent ? "scheduledAt" : nil, totalGBP.isPresent ? "totalGBP" : nil,
        ].compactMap(\.self)
    }
}

extension Change {
    var isPresent: Bool { self != .keep }
}
