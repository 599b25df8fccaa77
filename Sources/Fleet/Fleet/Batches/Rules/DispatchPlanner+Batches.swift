import Primitives

/// What a command does to a batch: the store writes the orders that differ.
package struct BatchChange: Equatable, Sendable {
    /// Nil if the store does not have the batch.
    package let stored: Batch?
    package let batch: Batch

    package init(stored: Batch?, batch: Batch) {
        self.stored = stored
        self.batch = batch
    }
}

extension DispatchPlanner {
    /// Plans any action on a batch.
    /// - Parameters:
    ///   - stored: the batch, or a new one with version 0.
    ///   - random: for the ids of assignments.
    ///   - respond: makes the response from the decision and the ids of the notifications.
    /// - Throws: ``RuleError``, why the action is refused.
    package mutating func plan(
        _ action: BatchAction, for stored: Batch, _ context: CommandContext, using random: inout some RandomNumberGenerator,
        respond: (BatchDecision, [String]) -> BatchAnswer
    ) throws(RuleError) -> DispatchPlan {
        try context.checkVersion(stored.version, of: "Batch \(stored.id.text)")
        let decision = try stored.apply(action, at: context.now, using: &random)
        guard !decision.isRepetition else {
            var plan = DispatchPlan(response: .batch(respond(decision, [])))
            plan.isRepetition = true
            return plan
        }
        let subject = AuditEntry.Subject.batch(stored.id.text)
        let (notifications, pushes) = try makeNotifications(
            decision.news.map { $0.draft(decision.batch, action) }, of: subject, .batch,
            presentFields: ["batchNumber", "reason"], context)
        var plan = DispatchPlan(response: .batch(respond(decision, notifications.map(\.id))))
        plan.batch = BatchChange(stored: stored.version == 0 ? nil : stored, batch: decision.batch)
        (plan.notifications, plan.pushes) = (notifications, pushes)
        var context = context
        if case .open = action { context.auditActor = Self.batchActor }
        plan.audit = context.makeAuditEntry(
            action.name, subject, from: stored.version == 0 ? nil : .init(stored), to: .init(decision.batch),
            reason: action.reason, details: action.auditDetails(decision.batch))
        return plan
    }

    /// Who opens a batch at the end of its window, according to the audit log. No user's key: `system` is no role.
    package static let batchActor = "system:batches"

    /// Plans a change of a driver's switch. Dispatchers hear of it.
    package mutating func switchAvailability(
        to availability: Availability, responding response: CommandResponse, _ context: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        let (notifications, _) = try makeNotifications(
            [availability.draft(at: context.now)], of: .account(availability.accountID.text), .account, presentFields: [],
            context)
        var plan = DispatchPlan(response: response)
        plan.notifications = notifications
        plan.availability = availability
        return plan
    }
}

extension Availability {
    /// The event that tells dispatchers.
    func draft(at now: Int64) -> EventDraft {
        EventDraft(
            .admin, "driver-availability",
            [
                "driverId": .text(personID), "online": .flag(isOnline),
                "timestamp": .text(Timestamp.iso8601(milliseconds: now)),
            ])
    }
}

extension AuditEntry.State {
    init(_ batch: Batch) { self.init(status: batch.status.rawValue, driverID: batch.driver?.personID.text) }
}

extension BatchAction {
    /// What the audit log keeps of the action besides the batch's states.
    fileprivate func auditDetails(_ batch: Batch) -> EventFields {
        let order: EventFields = orderID.map { ["orderId": .text($0.text)] } ?? [:]
        switch self {
        case .edit(let edits): return ["fields": .texts(edits.presentFields)]
        case .pickup(_, let notes), .complete(_, let notes): return notes.map { ["notes": .text($0)] } ?? [:]
        case .report(let report, _, _, _):
            let failure: EventFields =
                if case .failed(let reason) = report.outcome { ["failureReason": .text(reason.rawValue)] } else { [:] }
            return order + ["status": .text(report.status.rawValue)] + failure
                + (report.notes.map { ["notes": .text($0)] } ?? [:])
        case .cancelOrder(_, let party, _): return order + ["cancelledBy": .text(party.rawValue)]
        case .returnOrder: return order
        case .ready, .reassign, .unassign, .cancel, .open, .accept, .acknowledge, .sequence: return [:]
        }
    }
}
