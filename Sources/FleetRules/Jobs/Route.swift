import JSON

/// A route: several orders driven in one go. The gateway knows its assignment, and the fields that requests have set.
package struct Route: Equatable, Sendable {
    package let id: String
    package var assignment = Assignment()
    package var routeNumber: String?
    package var bookingsCount: JSONNumber?
    package var dropsCount: JSONNumber?
    package var earningsAdjustment: JSONNumber?

    package init(id: String) { self.id = id }
}

extension Route: Job {
    typealias Transition = RouteTransition

    static let noun = "Route"
    var label: String { "Route \(id)" }
    var auditSubject: AuditEntry.Subject { .route(id) }
    var pushPolicy: PushPolicy { .route(id) }

    func place(in plan: inout DispatchPlan) { plan.route = self }
}

/// A request's changes to a route's fields.
package struct RouteChanges: Equatable, Sendable {
    package var routeNumber = Change<String>.keep
    package var bookingsCount = Change<JSONNumber>.keep
    package var dropsCount = Change<JSONNumber>.keep
    package var earningsAdjustment = Change<JSONNumber>.keep

    package init() {}

    package func apply(to route: inout Route) {
        routeNumber.applied(to: &route.routeNumber)
        bookingsCount.applied(to: &route.bookingsCount)
        dropsCount.applied(to: &route.dropsCount)
        earningsAdjustment.applied(to: &route.earningsAdjustment)
    }

    /// The names of the fields that the request sets or clears.
    var presentFields: [String] {
        [
            routeNumber.isPresent ? "routeNumber" : nil, bookingsCount.isPresent ? "bookingsCount" : nil,
            dropsCount.isPresent ? "dropsCount" : nil, earningsAdjustment.isPresent ? "earningsAdjustment" : nil,
        ].compactMap(\.self)
    }
}
