import Primitives

/// What ``DispatchPlanner`` needs of an admin's action on an order or a route.
protocol AdminAction {
    associatedtype Target: Job

    /// How the audit log names the action: `assign`, `remove_drop`.
    var auditName: String { get }
    /// The driver to assign; nil for actions other than `assign`.
    var assignee: Assignment.Driver? { get }
    /// The driver to notify if the stored order or route has none: the backend may have assigned one before the
    /// gateway stored it. Nil if the request names no driver.
    var fallbackDriver: Identifier? { get }
    /// Names of the order's or route's fields that the request sets or clears.
    var changedFields: [String] { get }
    /// The admin's reason, for the events and the audit log; nil if the request has none.
    var reason: String? { get }

    /// Whether the gateway takes it because of the job's age: its events are not pushed.
    var isForAge: Bool { get }

    /// Creates the order or route. Called if the store does not have it yet.
    func makeTarget() -> Target
    /// Sets and clears the fields that the request contains.
    func applyChanges(to target: inout Target)
    /// Applies the action.
    /// - Returns: the response's message, and the transitions, none if the action causes no event.
    /// - Throws: `.conflict` (409) if the job's status or driver does not allow the action.
    func apply(to target: inout Target) throws(RuleError) -> (message: String, transitions: [Target.Transition])
    /// For the audit log: the names of the changed fields, the id of a removed drop, and the fallback driver if it was
    /// used. Field values are left out: they may be personal data, and the audit log keeps its rows when a person's
    /// data is erased.
    /// - Parameter stored: the order or route before the action; nil if the store did not have it.
    func auditDetails(stored: Target?) -> EventFields
}

extension AdminAction {
    /// Names of the request's fields that could make an event too large: those stored with the job, and the reason.
    var presentFields: [String] { storedFields + (reason == nil ? [] : ["reason"]) }

    /// Names of the request's fields that are stored with the job.
    private var storedFields: [String] { changedFields + (assignee?.name == nil ? [] : ["driverName"]) }

    /// Rejects fields that would make a later event too large. They are checked now rather than when that event is
    /// published: a stored field must not make later actions on the job fail.
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
