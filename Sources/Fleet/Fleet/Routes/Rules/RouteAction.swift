import Primitives

/// An admin's action on a route. The module HTTPAPI rejects an `assign` request without `driverId`, so
/// ``Kind/assign(_:)`` always has a driver.
package struct RouteAction: Equatable, Sendable {
    /// The kind of action, with the values that only this kind has.
    package enum Kind: Equatable, Sendable {
        case assign(Assignment.Driver)
        case unassign
        case cancel
        /// Notifies the driver that the drop with this id was removed. The gateway does not store drops.
        case removeDrop(String)
        /// Stores the request's fields, even if the route is cancelled. Causes no events.
        case update
    }

    package let id: String
    package var kind: Kind
    /// The driver to notify if no driver is stored; ignored by `assign` and `update`.
    package var fallbackDriver: Identifier?
    /// Free text for the events and the audit log.
    package var reason: String?
    package var changes = RouteChanges()
    /// Whether the gateway cancels the route for its age: nothing is pushed.
    package var isForAge = false

    package init(id: String, _ kind: Kind) {
        self.id = id
        self.kind = kind
    }
}

extension RouteAction: AdminAction {
    var auditName: String {
        switch kind {
        case .assign: "assign"
        case .unassign: "unassign"
        case .cancel: "cancel"
        case .removeDrop: "remove_drop"
        case .update: "update"
        }
    }

    var assignee: Assignment.Driver? { if case .assign(let driver) = kind { driver } else { nil } }
    var changedFields: [String] { changes.presentFields }

    func makeTarget() -> Route { Route(id: id) }

    func applyChanges(to route: inout Route) { changes.apply(to: &route) }

    func apply(to route: inout Route) throws(RuleError) -> (message: String, transitions: [RouteTransition]) {
        let change: Assignment.Change
        switch kind {
        case .assign(let driver): change = .assign(driver)
        case .unassign: change = .unassign(fallback: fallbackDriver)
        case .cancel: change = .cancel(fallback: fallbackDriver)
        case .removeDrop(let drop):
            try route.assignment.status.checkOpen(route.label)
            let driver = route.assignment.driver?.id ?? fallbackDriver
            return ("Drop removed", [.dropRemoved(drop, driver: driver?.text, reason: reason)])
        case .update: return ("Route updated", [])
        }
        switch try route.assignment.apply(change, label: route.label) {
        case nil:
            return ("Driver already assigned", [])
        case .assigned(let driver, let former):
            return (
                former == nil ? "Driver assigned" : "Driver reassigned",
                [.assigned(to: driver.id.text, name: driver.name, from: former?.text, reason: reason)]
            )
        case .unassigned(let former):
            return ("Route unassigned", [.unassigned(from: former.text, reason: reason)])
        case .cancelled(let driver):
            return ("Route cancelled", [.cancelled(driver: driver?.text, reason: reason)])
        }
    }

    func auditDetails(stored: Route?) -> EventFields {
        switch kind {
        case .assign, .update: changedFieldDetails
        case .unassign, .cancel: changedFieldDetails + fallbackDetails(stored: stored)
        case .removeDrop(let drop): changedFieldDetails + ["dropId": .text(drop)] + fallbackDetails(stored: stored)
        }
    }
}
