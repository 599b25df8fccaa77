import JSON

/// A route, on which one driver delivers several orders: its id, its assignment, and the fields that requests have set
/// (nil: not set).
package struct Route: Equatable, Sendable {
    package let id: String
    package var assignment = Assignment()
    package var routeNumber: String?
    package var bookingsCount: JSONNumber?
    /// The number of drops, the stops at which the driver delivers.
    package var dropsCount: JSONNumber?
    /// In pounds sterling, as the request wrote it.
    package var earningsAdjustment: JSONNumber?

    package init(id: String) { self.id = id }
}

extension Route: Job {
    typealias Transition = RouteTransition

    static let noun = "Route"
    var label: String { "Route \(id)" }
    var auditSubject: AuditEntry.Subject { .route(id) }
    var pushPolicy: PushPolicy { .route(id) }
    var textBytes: Int {
        [id, routeNumber, bookingsCount?.text, dropsCount?.text, earningsAdjustment?.text]
            .reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    }

    func place(in plan: inout DispatchPlan) { plan.route = self }

    func response(_ message: String, _ notificationIDs: [String]) -> CommandResponse {
        .route(message, self, notificationIDs: notificationIDs)
    }
}

/// A request's changes to a route's fields.
package struct RouteChanges: Equatable, Sendable {
    package var routeNumber = Change<String>.keep
    package var bookingsCount = Change<JSONNumber>.keep
    package var dropsCount = Change<JSONNumber>.keep
    package var earningsAdjustment = Change<JSONNumber>.keep

    package init() {}

    /// Sets and clears the fields that the request contains.
    package func apply(to route: inout Route) {
        routeNumber.apply(to: &route.routeNumber)
        bookingsCount.apply(to: &route.bookingsCount)
        dropsCount.apply(to: &route.dropsCount)
        earningsAdjustment.apply(to: &route.earningsAdjustment)
    }

    /// The names of the fields that the request sets or clears.
    var presentFields: [String] {
        [
            routeNumber.isPresent ? "routeNumber" : nil, bookingsCount.isPresent ? "bookingsCount" : nil,
            dropsCount.isPresent ? "dropsCount" : nil, earningsAdjustment.isPresent ? "earningsAdjustment" : nil,
        ].compactMap(\.self)
    }
}
