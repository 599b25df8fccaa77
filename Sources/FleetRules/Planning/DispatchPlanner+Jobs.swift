import Primitives

extension DispatchPlanner {
    /// A driver takes a job: his own, or one that nobody has. `id` is what he named it by: the code, else the bookingId.
    package mutating func acceptJob(
        _ id: String, on order: Order?, _ occasion: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        guard let order else { throw RuleError(.unknown, "Job not found") }
        assert(id == order.code || id == order.bookingID, "the store found another order than was named")
        let driver = occasion.actor
        let bid = try Acceptance("job", order.label, order.status, of: order.driverID, by: driver.id)
        try occasion.checkVersion(order.version, of: order.label)
        guard bid != .alreadyAccepted else {
            return DispatchPlan(
                answer: DispatchPlan.response("Job already accepted", [], occasion.correlationID, data: order.member))
        }

        var after = order
        after.status = .accepted
        after.version += 1
        if bid == .claimed { (after.driverID, after.driverName) = (driver.id, driver.name) }
        let name = driver.name ?? after.driverName
        let happening: OrderTransition =
            bid == .claimed ? .claimed(by: driver.id, name: name) : .accepted(by: driver.id, name: name)
        let subject = AuditEntry.Subject.order(order.code)
        let told = try makeNotifications(
            happening.events(of: after, at: occasion.now), of: subject, to: .order(after), said: ["driverName"], occasion)
        var decision = DispatchPlan(
            answer: DispatchPlan.response(
                "Job accepted successfully", told.notifications, occasion.correlationID, data: after.member))
        decision.order = after
        decision.tell(told)
        decision.audit = occasion.audit("accept", subject, before: order.auditState, after: after.auditState)
        return decision
    }

    /// A driver takes a route: his own, or one that nobody has.
    package mutating func acceptRoute(
        _ id: String, on route: Route?, _ occasion: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        guard let route else { throw RuleError(.unknown, "Route not found") }
        assert(id == route.id, "the store found another route than was named")
        let driver = occasion.actor
        let bid = try Acceptance("route", route.label, route.status, of: route.driverID, by: driver.id)
        try occasion.checkVersion(route.version, of: route.label)
        guard bid != .alreadyAccepted else {
            return DispatchPlan(
                answer: DispatchPlan.response("Route already accepted", [], occasion.correlationID, data: route.member))
        }

        var after = route
        after.status = .accepted
        after.version += 1
        if bid == .claimed { (after.driverID, after.driverName) = (driver.id, driver.name) }
        let name = driver.name ?? after.driverName
        let happening: RouteTransition =
            bid == .claimed ? .claimed(by: driver.id, name: name) : .accepted(by: driver.id, name: name)
        let subject = AuditEntry.Subject.route(route.id)
        let told = try makeNotifications(
            happening.events(of: after, at: occasion.now), of: subject, to: .route(after.id), said: ["driverName"], occasion)
        var decision = DispatchPlan(
            answer: DispatchPlan.response(
                "Route accepted successfully", told.notifications, occasion.correlationID, data: after.member)
        )
        decision.route = after
        decision.tell(told)
        decision.audit = occasion.audit("accept", subject, before: route.auditState, after: after.auditState)
        return decision
    }

    /// A driver has come a step further. `id` is what he named the job by: the code, else the bookingId.
    package mutating func progress(
        _ report: ProgressReport, _ id: String, on order: Order?, _ occasion: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        try report.step.checkReportable()
        guard let order else { throw RuleError(.unknown, "Job not found") }
        assert(id == order.code || id == order.bookingID, "the store found another order than was named")
        let driver = occasion.actor
        guard order.driverID.isSame(as: driver.id) else { throw RuleError(.forbidden, "This job is not yours") }
        try order.status.checkProgress(to: report.step)
        try occasion.checkVersion(order.version, of: order.label)

        var after = order
        after.status = report.step
        after.version += 1
        let subject = AuditEntry.Subject.order(order.code)
        let happening = OrderTransition.progressed(to: report.step, by: driver.id, name: driver.name ?? order.driverName)
        let told = try makeNotifications(
            happening.events(of: after, at: occasion.now), of: subject, to: .order(after), said: ["driverName"], occasion)
        var decision = DispatchPlan(
            answer: DispatchPlan.response("Progress updated") { json in
                json.members([
                    "step": .text(report.step.rawValue),
                    "timestamp": .text(Timestamp.iso8601(milliseconds: occasion.now)),
                ])
            })
        decision.order = after
        decision.tell(told)
        decision.audit = occasion.audit(
            "progress", subject, before: order.auditState, after: after.auditState, details: report.auditDetails)
        return decision
    }
}

/// What a driver's accepting amounts to.
private enum Acceptance {
    /// It is his already.
    case alreadyAccepted
    /// It was assigned to him.
    case assigned
    /// Nobody had it.
    case claimed

    init(
        _ kind: String, _ noun: String, _ status: JobStatus, of owner: String?, by driver: String
    ) throws(RuleError) {
        try status.checkOpen(noun)
        guard owner != nil else {
            self = .claimed
            return
        }
        guard owner.isSame(as: driver) else {
            throw RuleError(.conflict, "This \(kind) has already been accepted by another driver")
        }
        self = status.isAgreed ? .alreadyAccepted : .assigned
    }
}

extension ProgressReport {
    /// What the driver said beside the step, as far as he said it.
    fileprivate var auditDetails: EventFields {
        let notes: EventFields = notes == nil ? [:] : ["notes": .text(notes)]
        let latitude: EventFields = latitude == nil ? [:] : ["latitude": .number(latitude)]
        let longitude: EventFields = longitude == nil ? [:] : ["longitude": .number(longitude)]
        return notes + latitude + longitude
    }
}
