import Primitives

/// The common interface of admins' actions on orders and routes for ``DispatchPlanner``.
protocol AdminAction {
    associatedtype Target: Job

    /// How the audit log names the action: `assign`, `remove_drop`.
    var auditName: String { get }
    /// The driver to assign; nil for actions other than `assign`.
    var assignee: Assignment.Driver? { get }
    /// The driver to notify if no driver is stored.
    var fallbackDriver: Identifier? { get }
    /// Names of the order's or route's fields that the request sets or clears.
    var changedFields: [String] { get }
    var reason: String? { get }

    /// A new order or route, for an action on one that the store does not have.
    func makeTarget() -> Target
    /// Sets and clears the fields that the request contains.
    func applyChanges(to target: inout Target)
    /// Applies the action.
    /// - Returns: the response's message, and the transition; nil if the action causes no event.
    /// - Throws: `.conflict` (409) if the job's status or driver does not allow the action.
    func apply(to target: inout Target) throws(RuleError) -> (message: String, transition: Target.Transition?)
    /// For the audit log: names of the changed fields, and the fallback driver if it was used. Field values are left
    /// out: they may be personal data, and audit rows outlive an erasure.
    func auditDetails(stored: Target?) -> EventFields
}

extension AdminAction {
    /// Names of all fields that the request contains.
    var presentFields: [String] { storedFields + (reason == nil ? [] : ["reason"]) }

    /// Names of the fields that the request contains and the store keeps.
    private var storedFields: [String] { changedFields + (assignee?.name == nil ? [] : ["driverName"]) }

    /// Rejects fields that would make a later event too large. They are checked now rather than when the event is due,
    /// so that a stored order can always be cancelled.
    func checkEventSizes(_ target: Target, _ rules: NotificationRules) throws(RuleError) {
        let name = assignee?.name ?? target.assignment.driver?.name
        try EventSize.check(target, driverName: name, presentFields: storedFields, rules)
    }

    /// For the audit log: the names of the changed fields.
    var changedFieldDetails: EventFields { changedFields.isEmpty ? [:] : ["fields": .texts(changedFields)] }

    /// For the audit log: the fallback driver, if no driver was stored.
    func fallbackDetails(stored: Target?) -> EventFields {
        guard stored?.assignment.driver == nil, let fallbackDriver else { return [:] }
        return ["driverId": .text(fallbackDriver.text)]
    }
}
