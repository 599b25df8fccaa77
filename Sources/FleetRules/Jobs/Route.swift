import JSON

/// A route: several orders driven in one go, as far as the gateway has been told of it.
package struct Route: Equatable, Sendable {
    package let id: String
    package var status = JobStatus.available
    package var driverID: String?
    /// As the last assignment said.
    package var driverName: String?
    /// 1 once stored, and one more with every change.
    package var version = 0
    package var routeNumber: String?
    package var bookingsCount: JSONNumber?
    package var dropsCount: JSONNumber?
    package var earningsAdjustment: JSONNumber?

    package init(id: String) { self.id = id }
}

/// What a request says of a route's fields.
package struct RouteChanges: Equatable, Sendable {
    package var routeNumber = Change<String>.keep
    package var bookingsCount = Change<JSONNumber>.keep
    package var dropsCount = Change<JSONNumber>.keep
    package var earningsAdjustment = Change<JSONNumber>.keep

    package init() {}

    /// Makes the changes.
    package func apply(to route: inout Route) {
        routeNumber.applied(to: &route.routeNumber)
        bookingsCount.applied(to: &route.bookingsCount)
        dropsCount.applied(to: &route.dropsCount)
        earningsAdjustment.applied(to: &route.earningsAdjustment)
    }
}
