import Access
import Primitives

extension DispatchPlanner {
    /// Plans the acceptance of an order by the actor, a driver. The order must be assigned to this driver or have no
    /// driver.
    /// - Parameter stored: nil if the store has no such order.
    /// - Throws: ``RuleError``. Checks in this order: 404, 409 (state or driver), 409 (version), 400 (size of the
    ///   events).
    package mutating func accept(order stored: Order?, _ context: CommandContext) throws(RuleError) -> DispatchPlan {
        try planAcceptance(of: stored, context) { order, driver in
            let name = order.tripDriverName(context.card, account: driver.name)
            return [.told(.driverAssigned(driver.id.text, name, context.card))]
        }
    }

    /// Plans the acceptance of a route by the actor, a driver. Conditions and errors are those of ``accept(order:_:)``.
    package mutating func accept(route stored: Route?, _ context: CommandContext) throws(RuleError) -> DispatchPlan {
        try planAcceptance(of: stored, context) { _, _ in [] }
    }

    /// - Parameter news: what else is told, besides the acceptance.
    private mutating func planAcceptance<Subject: Job>(
        of stored: Subject?, _ context: CommandContext, news: (Subject, Assignment.Driver) -> [Subject.Transition]
    ) throws(RuleError) -> DispatchPlan {
        guard let stored else { throw RuleError(.unknownJob, Subject.noun) }
        let driver = Assignment.Driver(id: Identifier(context.actor.id), name: context.actor.name)
        var job = stored
        let acceptance = try job.assignment.accept(by: driver, label: job.label, noun: Subject.noun.lowercased())
        try context.checkVersion(of: job)
        let name = driver.name ?? job.assignment.driver?.name ?? context.card?.name
        let alreadyAccepted = "\(Subject.noun) already accepted"
        let transition: Subject.Transition
        switch acceptance {
        case .alreadyAccepted:
            return DispatchPlan(response: job.response(alreadyAccepted, []))
        case .claimed: transition = .claimed(by: driver.id.text, name: name)
        case .confirmed: transition = .accepted(by: driver.id.text, name: name)
        }
        var plan = try planChange(
            of: stored, to: job, by: [transition] + news(job, driver), presentFields: ["driverName"], audit: ("accept", nil, [:]),
            context
        ) { job, notificationIDs in
            job.response("\(Subject.noun) accepted successfully", notificationIDs)
        }
        // Apps distinguish an accept that they have repeated by this message.
        plan.repetition = plan.response.withMessage(alreadyAccepted)
        return plan
    }

    /// Plans the actor's report of the next step of an order. The actor must be the order's driver.
    /// - Parameters:
    ///   - stored: nil if the store has no such order.
    ///   - last: the order's last entry in the audit log. Needed only if the order's status is the reported step.
    ///   - history: what is known of the arrival. Needed only if it is to be taken back.
    /// - Throws: ``RuleError``. Checks in this order: 400 (not a step), 404, 403, 400 (not the next step), 409 (version),
    ///   400 (size of the events).
    package mutating func progress(
        _ report: ProgressReport, of stored: Order?, after last: AuditEntry? = nil, given history: ArrivalHistory = .init(),
        _ context: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        try report.step.checkIsStep()
        guard let stored else { throw RuleError(.unknownJob, Order.noun) }
        guard let driver = stored.assignment.driver, driver.id == Identifier(context.actor.id) else {
            throw RuleError(.notYourJob)
        }
        if let time = report.repeated(after: last, of: stored, context) {
            var plan = DispatchPlan(response: report.isUndo ? .arrivalTakenBack(at: time) : .progress(report.step, at: time))
            plan.isRepetition = true
            return plan
        }
        if report.takesBackArrival(of: stored) {
            return try undoArrival(of: stored, driver, reason: report.reason, history, context)
        }
        try stored.assignment.status.checkProgress(to: report.step)
        try context.checkVersion(of: stored)

        return try planStep(
            report.step, of: stored, at: context.now, details: report.auditDetails,
            containsPosition: report.latitude != nil || report.longitude != nil, context)
    }
}
