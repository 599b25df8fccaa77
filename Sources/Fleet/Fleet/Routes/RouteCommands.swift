import Access
import Primitives

/// What admins, and the gateway for age, do with a route.
extension RouteAction: Command {
    package var name: String {
        switch kind {
        case .assign: "route_assign"
        case .unassign: "route_unassign"
        case .cancel: "route_cancel"
        case .removeDrop: "remove_drop"
        case .update: "route_update"
        }
    }

    package var priority: RequestPriority { .dispatch }
    package var subject: String { id }

    package var rows: Int {
        // Nothing is pushed.
        if isForAge { return RowBound.change + 2 * RowBound.notification }
        return RowBound.change + 6 * RowBound.notification + 2 * RowBound.push + 2
    }

    package func prefetch(_ transaction: Transaction) throws(DatabaseError) {
        try transaction.stores.routes.prefetch(id: id)
        if case .assign(let driver) = kind {
            try transaction.stores.prefetchAssignment(to: driver.id.text, transaction.now)
        }
    }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let stores = transaction.stores
        var action = self
        if case .assign(let driver) = kind { action.kind = .assign(try driver.resolved(stores.accounts)) }
        action.fallbackDriver = try fallbackDriver?.resolved(stores.accounts)
        let route = try stores.routes.route(id: id)
        let reply = try transaction.plan { [action] planner, context throws(RuleError) in
            try planner.plan(action, for: route, context)
        }
        if isForAge { stores.countEnded(reply) }
        return reply
    }
}

/// The actor, a driver, accepts the route with this id.
package struct AcceptRoute: Command {
    package let id: String

    package init(_ id: String) { self.id = id }

    package var name: String { "route_accept" }
    package var priority: RequestPriority { .jobs }
    package var subject: String { id }
    package var rows: Int { RowBound.change + 3 * RowBound.notification }

    package func prefetch(_ transaction: Transaction) throws(DatabaseError) {
        try transaction.stores.routes.prefetch(id: id)
        try transaction.stores.prefetchDriver(transaction.actor.id)
    }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let stores = transaction.stores
        let route = try stores.routes.route(id: id)
        var transaction = transaction
        transaction.context.card = try stores.shownCard(ofDriver: transaction.actor.id)
        let reply = try transaction.plan { planner, context throws(RuleError) in
            try planner.accept(route: route, context)
        }
        transaction.recordAnswer(reply, route.map { .route($0.id) }, route?.assignment)
        return reply
    }
}
