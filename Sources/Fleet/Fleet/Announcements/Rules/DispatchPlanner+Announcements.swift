extension DispatchPlanner {
    /// Plans a notification to drivers, to a customer or to all drivers.
    /// - Throws: `.invalid` (400) if it has no recipient, or its data is not an object or is too large.
    package mutating func announce(
        _ announcement: Announcement, _ context: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        let members = try announcement.members(at: context.now)
        let event = EventNames.event(ofType: announcement.type)
        let drafts = try announcement.channels().map { EventDraft($0, event, verbatim: members) }
        let (notifications, pushes) = try makeNotifications(
            drafts, of: .fleet, .announcement, presentFields: ["data"], context)
        var plan = DispatchPlan(response: .announcement(notificationIDs: notifications.map(\.id)))
        plan.notifications = notifications
        plan.pushes = pushes
        plan.audit = context.makeAuditEntry("announce", .fleet, details: announcement.auditDetails)
        return plan
    }
}
