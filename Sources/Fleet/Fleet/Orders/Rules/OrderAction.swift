import Primitives

/// An admin's action on an order. The module HTTPAPI rejects an `assign` request without `driverId`, so
/// ``Kind/assign(_:)`` always has a driver.
package struct OrderAction: Equatable, Sendable {
    /// The kind of action, with the values that only this kind has.
    package enum Kind: Equatable, Sendable {
        case assign(Assignment.Driver)
        case unassign
        /// Has the same effect as `unassign` on the order, but publishes other events.
        case removeDriver
        case cancel
        /// Stores the request's fields, even if the order is completed or cancelled. Causes no events.
        case update
    }

    package let code: String
    package var kind: Kind
    /// The driver to notify if no driver is stored; ignored by `assign` and `update`.
    package var fallbackDriver: Identifier?
    /// Free text for the events and the audit log.
    package var reason: String?
    package var changes = OrderChanges()
    /// Whether the gateway cancels the order for its age: nothing is pushed, and of the drivers only its own is told.
    package var isForAge = false
    /// The name on the card of the driver to assign, for the events of a request that names none.
    package var cardName: String?

    package init(code: String, _ kind: Kind) {
        self.code = code
        self.kind = kind
    }
}

extension OrderAction.Kind {
    /// The action's name in the audit log and in metrics.
    package var name: String {
        switch self {
        case .assign: "assign"
        case .unassign: "unassign"
        case .removeDriver: "remove_driver"
        case .cancel: "cancel"
        case .update: "update"
        }
    }
}

extension OrderAction: AdminAction {
    var auditName: String { kind.name }
    var assignee: Assignment.Driver? { if case .assign(let driver) = kind { driver } else { nil } }
    var changedFields: [String] { changes.presentFields }

    func makeTarget() -> Order { Order(code: code) }

    func applyChanges(to order: inout Order) { changes.apply(to: &order) }

    func apply(to order: inout Order) throws(RuleError) -> (message: String, transitions: [OrderTransition]) {
        let change: Assignment.Change
        switch kind {
        case .assign(let driver): change = .assign(driver)
        case .unassign, .removeDriver: change = .unassign(fallback: fallbackDriver)
        case .cancel: change = .cancel(fallback: fallbackDriver)
        case .update: return ("Order updated", [])
        }
        // The customers who follow the driver are told that this ends, after all others have been told.
        let stop: [OrderTransition] = order.isFollowed ? [.trackingStopped(.driverChanged)] : []
        switch try order.assignment.apply(change, label: order.label) {
        case nil:
            return ("Driver already assigned", [])
        case .assigned(let driver, let former):
            order.trip = TripRecord()
            let assigned = OrderTransition.assigned(to: driver.id.text, name: driver.name ?? cardName, from: former?.text)
            return (former == nil ? "Driver assigned" : "Driver reassigned", [assigned] + stop)
        case .unassigned(let former) where kind == .removeDriver:
            order.trip = TripRecord()
            return ("Driver removed", [.driverRemoved(former.text, reason: reason)] + stop)
        case .unassigned(let former):
            order.trip = TripRecord()
            return ("Order unassigned", [.unassigned(from: former.text, reason: reason)] + stop)
        case .cancelled(let driver):
            let id = driver?.text
            return ("Order cancelled", [isForAge ? .aged(driver: id, reason: reason) : .cancelled(driver: id, reason: reason)])
        }
    }

    func auditDetails(stored: Order?) -> EventFields {
        switch kind {
        case .assign, .update: changedFieldDetails
        case .unassign, .removeDriver, .cancel: changedFieldDetails + fallbackDetails(stored: stored)
        }
    }
}
