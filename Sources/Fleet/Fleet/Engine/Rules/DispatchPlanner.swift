import Primitives

/// Turns an action into a plan: new state, events, pushes, audit entry, response. The planner performs no I/O: the
/// store and the gateway carry out the plan.
/// Each feature plans its commands in an extension. `OrderEvents.swift` and `RouteEvents.swift` define the events of each
/// action on an order or a route.
package struct DispatchPlanner: Sendable {
    /// The source of the ids of notifications.
    package var ids: ULIDSource

    package init(ids: ULIDSource = ULIDSource()) { self.ids = ids }

    /// Plans an admin's action on an order.
    /// - Parameter stored: nil if the store has no order with this code; the action then creates it.
    /// - Throws: ``RuleError``. Checks in this order: 400 (a field would make a later event too large), 409 (version),
    ///   409 (state), 400 (an event of this action is too large).
    package mutating func plan(
        _ action: OrderAction, for stored: Order?, _ context: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        try planAction(action, on: stored, context)
    }

    /// Plans an admin's action on a route.
    /// - Parameter stored: nil if the store has no route with this id; the action then creates it.
    /// - Throws: ``RuleError``, as for an action on an order.
    package mutating func plan(
        _ action: RouteAction, for stored: Route?, _ context: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        try planAction(action, on: stored, context)
    }

    private mutating func planAction<Action: AdminAction>(
        _ action: Action, on stored: Action.Target?, _ context: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        var job = stored ?? action.makeTarget()
        action.applyChanges(to: &job)
        try action.checkEventSizes(job, context.rules)
        try context.checkVersion(of: job)
        let (message, transitions) = try action.apply(to: &job)
        // A new job and a transition are changes. A transition is one even if no field differs: unassigning an order
        // that has no driver stored still notifies the fallback driver. Without a transition, a field must differ;
        // otherwise, the plan is only a response.
        guard stored.map({ !transitions.isEmpty || job.differs(from: $0) }) ?? true else {
            return DispatchPlan(response: job.response(message, []))
        }
        var plan = try planChange(
            of: stored, to: job, by: transitions, presentFields: action.presentFields,
            audit: (action.auditName, action.reason, action.auditDetails(stored: stored)), context
        ) { job, notificationIDs in
            job.response(message, notificationIDs)
        }
        if action.isForAge { plan.pushes = [] }
        return plan
    }

    /// Plans the change of a job to a new state, and increments its version.
    /// - Parameters:
    ///   - stored: nil if the store does not have the job.
    ///   - transitions: none if only fields change.
    ///   - presentFields: names of the fields that the request contains. An error about an event's size names one of
    ///     them, or a stored field if the event contains none of them.
    ///   - time: the time in the events, in milliseconds since 1970; nil: the present time.
    mutating func planChange<Subject: Job>(
        of stored: Subject?, to changed: Subject, by transitions: [Subject.Transition], presentFields: [String],
        at time: Int64? = nil, audit: (action: String, reason: String?, details: EventFields), _ context: CommandContext,
        response: (Subject, [String]) -> CommandResponse
    ) throws(RuleError) -> DispatchPlan {
        var job = changed
        job.assignment.version += 1
        let (notifications, pushes) = try makeNotifications(
            transitions.flatMap { $0.events(of: job, at: time ?? context.now) }, of: job.auditSubject, job.pushPolicy,
            presentFields: presentFields, context)
        var plan = DispatchPlan(response: response(job, notifications.map(\.id)))
        job.place(in: &plan)
        plan.notifications = notifications
        plan.pushes = pushes
        plan.audit = context.makeAuditEntry(
            audit.action, job.auditSubject, before: stored?.assignment, after: job.assignment, reason: audit.reason,
            details: audit.details)
        return plan
    }
}

// MARK: Notifications

extension DispatchPlanner {
    /// Turns each event into a notification with an id, in the order given, and selects the notifications to push.
    /// - Throws: `.invalid` (400) if an event is too large; the text names a field, preferably one of `presentFields`.
    mutating func makeNotifications(
        _ drafts: [EventDraft], of subject: AuditEntry.Subject, _ policy: PushPolicy, presentFields: [String],
        _ context: CommandContext
    ) throws(RuleError) -> ([Notification], [PushIntent]) {
        let drafts = drafts.map { $0.adding(context.rules[$0.event].data) }
        for draft in drafts {
            try EventSize.check(
                draft, presentFields: presentFields, correlationID: context.correlationID, context.rules)
        }
        let notifications = drafts.map { makeNotification($0, of: subject, context) }
        return (notifications, policy.pushes(of: Array(zip(drafts, notifications)), context.rules))
    }

    private mutating func makeNotification(
        _ draft: EventDraft, of subject: AuditEntry.Subject, _ context: CommandContext
    ) -> Notification {
        let id = ids.next(at: context.idTime)
        let rule = context.rules[draft.event]
        return Notification(
            id: id, channel: draft.channel.name, event: draft.event,
            data: draft.data(id: id, correlationID: context.correlationID), createdAt: context.now,
            expiresAt: context.now + Int64(rule.lifetimeSeconds) * 1000,
            collapseKey: rule.collapsesByJob ? subject.collapseKey ?? id : id)
    }
}
