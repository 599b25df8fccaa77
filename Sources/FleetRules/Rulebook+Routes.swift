import PusherProtocol

extension Rulebook {
    /// What an admin's deed makes of a route; nil is one that nobody has named yet.
    package mutating func decide(
        _ deed: RouteDeed, on route: Route?, _ occasion: Occasion
    ) throws(Refusal) -> Decision {
        var after = route ?? Route(id: deed.id)
        deed.changes.apply(to: &after)
        try deed.check(after, occasion.rules)
        try occasion.checkVersion(route?.version ?? 0, of: after.noun)
        let outcome = try deed.carryOut(on: &after)

        let subject = AuditEntry.Subject.route(deed.id)
        let drafts = outcome.happening?.events(of: after, at: occasion.now) ?? []
        let told = try tell(drafts, of: subject, to: .route(after.id), said: deed.said, occasion)
        // As with orders: a drop that is removed is a change, though no field of the route shows it.
        let isChanged = route.map { outcome.happening != nil || !after.isSame(as: $0) } ?? true
        if isChanged { after.version += 1 }
        var decision = Decision(
            answer: Decision.answer(outcome.message, told.notifications, occasion.correlationID, data: after.member))
        guard isChanged else { return decision }
        decision.route = after
        decision.tell(told)
        decision.audit = occasion.audit(
            deed.action.auditName, subject, before: route?.standing, after: after.standing, reason: deed.reason,
            details: deed.details(route))
        return decision
    }
}

extension RouteDeed {
    /// Changes state and driver as the deed wants, and says what happened: nothing, where fields are all that is stored.
    fileprivate func carryOut(on route: inout Route) throws(Refusal) -> (message: String, happening: RouteHappening?) {
        // What is only stored may come after the end.
        if action != .update { try route.status.checkOpen(route.noun) }
        let driver = route.driverID ?? driverID
        switch action {
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
            guard let driver else { throw Refusal(.conflict, "\(route.noun) has no driver") }
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

    private func driverToAssign() throws(Refusal) -> String {
        guard let driverID else { throw Refusal(.invalid, "driverId is required") }
        return driverID
    }

    /// Refuses what makes no sense whatever the state.
    fileprivate func check(_ route: Route, _ rules: NotificationRules) throws(Refusal) {
        if action == .assign { _ = try driverToAssign() }
        let stored = action == .assign ? ["driverName"] : []
        try EventSize.check(
            route, driverName: action == .assign ? driverName ?? route.driverName : route.driverName,
            said: changes.said + (driverName == nil ? [] : stored), rules)
    }

    /// The fields that this request brought.
    fileprivate var said: [String] {
        changes.said + (driverName == nil ? [] : ["driverName"]) + (reason == nil ? [] : ["reason"])
    }

    /// What the entry does not say elsewhere: the fields that were said, the drop, the driver where the state named none.
    fileprivate func details(_ before: Route?) -> EventFields {
        var details: EventFields = changes.said.isEmpty ? [:] : ["fields": .texts(changes.said)]
        if case .removeDrop(let drop) = action { details = details + ["dropId": .text(drop)] }
        if before?.driverID == nil, let driverID, action != .assign, action != .update {
            details = details + ["driverId": .text(driverID)]
        }
        return details
    }
}

extension RouteDeed.Action {
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
    fileprivate var said: [String] {
        [
            routeNumber.isSaid ? "routeNumber" : nil, bookingsCount.isSaid ? "bookingsCount" : nil,
            dropsCount.isSaid ? "dropsCount" : nil, earningsAdjustment.isSaid ? "earningsAdjustment" : nil,
        ].compactMap(\.self)
    }
}
