extension DispatchPlanner {
    /// What an admin's deed makes of a route; nil is one that nobody has named yet.
    package mutating func plan(
        _ deed: RouteAction, on route: Route?, _ occasion: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        var after = route ?? Route(id: deed.id)
        deed.changes.apply(to: &after)
        try deed.check(after, occasion.rules)
        try occasion.checkVersion(route?.version ?? 0, of: after.label)
        let outcome = try deed.apply(on: &after)

        let subject = AuditEntry.Subject.route(deed.id)
        let drafts = outcome.happening?.events(of: after, at: occasion.now) ?? []
        let told = try makeNotifications(drafts, of: subject, to: .route(after.id), said: deed.presentFields, occasion)
        // As with orders: a drop that is removed is a change, though no field of the route shows it.
        let isChanged = route.map { outcome.happening != nil || !after.isSame(as: $0) } ?? true
        if isChanged { after.version += 1 }
        var decision = DispatchPlan(
            answer: DispatchPlan.response(outcome.message, told.notifications, occasion.correlationID, data: after.member))
        guard isChanged else { return decision }
        decision.route = after
        decision.tell(told)
        decision.audit = occasion.audit(
            deed.kind.auditName, subject, before: route?.auditState, after: after.auditState, reason: deed.reason,
            details: deed.auditDetails(route))
        return decision
    }
}

extension RouteAction {
    /// Changes state and driver as the deed wants, and says what happened: nothing, where fields are all that is stored.
    fileprivate func apply(on route: inout Route) throws(RuleError) -> (message: String, happening: RouteTransition?) {
        // What is only stored may come after the end.
        if kind != .update { try route.status.checkOpen(route.label) }
        let driver = route.driverID ?? driverID
        switch kind {
        case .update:
            return ("Route updated", nil)

        case .assign where route.driverID.isSame(as: driverID):
            route.driverName = driverName ?? route.driverName
            return ("Driver already assigned", nil)

        case .assign:
            let new = try driverToAssign()
            let former = route.driverID
            route.driverID = new
            route.driverName = driverName
            route.status = .assigned
            return (
                former == nil ? "Driver assigned" : "Driver reassigned",
                .assigned(to: new, name: driverName, insteadOf: former, reason: reason)
            )

        case .unassign:
            guard let driver else { throw RuleError(.conflict, "\(route.label) has no driver") }
            route.status = .available
            route.driverID = nil
            route.driverName = nil
            return ("Route unassigned", .unassigned(from: driver, reason: reason))

        case .cancel:
            route.status = .cancelled
            return ("Route cancelled", .cancelled(driver: driver, reason: reason))

        case .removeDrop(let drop):
            return ("Drop removed", .dropRemoved(drop, driver: driver, reason: reason))
        }
    }

    private func driverToAssign() throws(RuleError) -> String {
        guard let driverID else { throw RuleError(.invalid, "driverId is required") }
        return driverID
    }

    /// Refuses what makes no sense whatever the state.
    fileprivate func check(_ route: Route, _ rules: NotificationRules) throws(RuleError) {
        if kind == .assign { _ = try driverToAssign() }
        let stored = kind == .assign ? ["driverName"] : []
        try EventSize.check(
            route, driverName: kind == .assign ? driverName ?? route.driverName : route.driverName,
            said: changes.presentFields + (driverName == nil ? [] : stored), rules)
    }

    /// The fields that this request brought.
    fileprivate var presentFields: [String] {
        changes.presentFields + (driverName == nil ? [] : ["driverName"]) + (reason == nil ? [] : ["reason"])
    }

    /// What the entry does not say elsewhere: the fields that were said, the drop, the driver where the state named none.
    fileprivate func auditDetails(_ before: Route?) -> EventFields {
        var details: EventFields = changes.presentFields.isEmpty ? [:] : ["fields": .texts(changes.presentFields)]
        if case .removeDrop(let drop) = kind { details = details + ["dropId": .text(drop)] }
        if before?.driverID == nil, let driverID, kind != .assign, kind != .update {
            details = details + ["driverId": .text(driverID)]
        }
        return details
    }
}

extension RouteAction.Kind {
    fileprivate var auditName: String {
        switch self {
        case .assign: "assign"
        case .unassign: "unassign"
        case .cancel: "cancel"
        case .removeDrop: "remove_drop"
        case .update: "update"
        }
    }
}

extension RouteChanges {
    /// The names of the fields that are set or cleared.
    fileprivate var presentFields: [String] {
        [
            routeNumber.isPresent ? "routeNumber" : nil, bookingsCount.isPresent ? "bookingsCount" : nil,
            dropsCount.isPresent ? "dropsCount" : nil, earningsAdjustment.isPresent ? "earningsAdjustment" : nil,
        ].compactMap(\.self)
    }
}
