import PusherProtocol

extension Rulebook {
    /// What an admin's deed makes of an order; nil is one that nobody has named yet.
    package mutating func decide(
        _ deed: OrderDeed, on order: Order?, _ occasion: Occasion
    ) throws(Refusal) -> Decision {
        var after = order ?? Order(code: deed.code)
        deed.changes.apply(to: &after)
        try deed.check(after, occasion.rules)
        try occasion.checkVersion(order?.version ?? 0, of: after.noun)
        let outcome = try deed.carryOut(on: &after)

        let subject = AuditEntry.Subject.order(deed.code)
        let drafts = outcome.happening?.events(of: after, at: occasion.now) ?? []
        let told = try tell(drafts, of: subject, to: .order(after), said: deed.said, occasion)
        // Whatever is done counts as a change, even if the order looks the same after it; what is only stored must differ.
        let isChanged = order.map { outcome.happening != nil || !after.isSame(as: $0) } ?? true
        if isChanged { after.version += 1 }
        var decision = Decision(
            answer: Decision.answer(outcome.message, told.notifications, occasion.correlationID, data: after.member))
        guard isChanged else { return decision }
        decision.order = after
        decision.tell(told)
        decision.audit = occasion.audit(
            deed.action.rawValue, subject, before: order?.standing, after: after.standing, reason: deed.reason,
            details: deed.details(order))
        return decision
    }
}

extension OrderDeed {
    /// Changes state and driver as the deed wants, and says what happened: nothing, where fields are all that is stored.
    fileprivate func carryOut(on order: inout Order) throws(Refusal) -> (message: String, happening: OrderHappening?) {
        // What is only stored may come after the end.
        if action != .update { try order.status.checkOpen(order.noun) }
        let driver = order.driverID ?? driverID
        switch action {
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
            guard let driver else { throw Refusal(.conflict, "\(order.noun) has no driver") }
            order.free()
            return ("Order unassigned", .unassigned(from: driver, reason: reason))

        case .removeDriver:
            guard let driver else { throw Refusal(.conflict, "\(order.noun) has no driver") }
            order.free()
            return ("Driver removed", .driverRemoved(driver, reason: reason))

        case .cancel:
            order.status = .cancelled
            return ("Order cancelled", .cancelled(driver: driver, reason: reason))
        }
    }

    private func driverToAssign() throws(Refusal) -> String {
        guard let driverID else { throw Refusal(.invalid, "driverId is required") }
        return driverID
    }

    /// Refuses what makes no sense whatever the state.
    fileprivate func check(_ order: Order, _ rules: NotificationRules) throws(Refusal) {
        if action == .assign { _ = try driverToAssign() }
        let stored = action == .assign ? ["driverName"] : []
        try EventSize.check(
            order, driverName: action == .assign ? driverName ?? order.driverName : order.driverName,
            said: changes.said + (driverName == nil ? [] : stored), rules)
    }

    /// The fields that this request brought.
    fileprivate var said: [String] {
        changes.said + (driverName == nil ? [] : ["driverName"]) + (reason == nil ? [] : ["reason"])
    }

    /// Which fields were said, and which driver was meant where the state named none: values stay out of the audit.
    fileprivate func details(_ before: Order?) -> EventFields {
        var details: EventFields = changes.said.isEmpty ? [:] : ["fields": .texts(changes.said)]
        if before?.driverID == nil, let driverID, action != .assign, action != .update {
            details = details + ["driverId": .text(driverID)]
        }
        return details
    }
}

extension Order {
    /// Open to all drivers again.
    fileprivate mutating func free() {
        status = .available
        driverID = nil
        driverName = nil
    }
}

extension OrderChanges {
    /// The names of the fields that are set or cleared.
    fileprivate var said: [String] {
        [
            bookingID.isSaid ? "bookingId" : nil, bookingReference.isSaid ? "bookingReference" : nil,
            customerID.isSaid ? "customerId" : nil, customerName.isSaid ? "customerName" : nil,
            pickupAddress.isSaid ? "pickupAddress" : nil, dropoffAddress.isSaid ? "dropoffAddress" : nil,
            scheduledAt.isSaid ? "scheduledAt" : nil, totalGBP.isSaid ? "totalGBP" : nil,
        ].compactMap(\.self)
    }
}

extension Change {
    var isSaid: Bool { self != .keep }
}
