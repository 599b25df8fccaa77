import Access
import Primitives

/// What admins, and the gateway for age, do with an order.
extension OrderAction: Command {
    package var name: String { kind.name }
    package var priority: RequestPriority { .dispatch }
    package var subject: String { code }

    package var rows: Int {
        // Nothing is pushed.
        if isForAge { return RowBound.change + 5 * RowBound.notification }
        return RowBound.change + 6 * RowBound.notification + 2 * RowBound.push + 2
            + (tellsCustomer ? RowBound.bookingPush : 0)
    }

    /// Whether the customers of the booking are told.
    private var tellsCustomer: Bool {
        switch kind {
        case .removeDriver, .cancel: true
        case .assign, .unassign, .update: false
        }
    }

    package func prefetch(_ transaction: Transaction) throws(DatabaseError) {
        let stores = transaction.stores
        try stores.orders.prefetch(code: code)
        guard case .assign(let driver) = kind else { return }
        if driver.name == nil { try stores.prefetchShownCard(ofDriver: driver.id.text) }
        try stores.prefetchAssignment(to: driver.id.text, transaction.now)
    }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let stores = transaction.stores
        var action = self
        if case .assign(let driver) = kind { action.kind = .assign(try driver.resolved(stores.accounts)) }
        action.fallbackDriver = try fallbackDriver?.resolved(stores.accounts)
        let order = try stores.orders.order(code: code)
        if case .assign(let driver) = action.kind, driver.name == nil {
            action.cardName = try stores.shownCard(ofDriver: driver.id.text)?.name
        }
        let reply = try transaction.plan { [action] planner, context throws(RuleError) in
            try planner.plan(action, for: order, context)
        }
        if isForAge { stores.countEnded(reply) }
        return reply
    }
}

/// The actor, a driver, accepts the order with this code or, if there is none, with this bookingId.
package struct AcceptJob: Command {
    package let id: String

    package init(_ id: String) { self.id = id }

    package var name: String { "accept" }
    package var priority: RequestPriority { .jobs }
    package var subject: String { id }
    package var rows: Int { RowBound.change + 4 * RowBound.notification + RowBound.bookingPush }

    package func prefetch(_ transaction: Transaction) throws(DatabaseError) {
        try transaction.stores.orders.prefetch(code: id)
        try transaction.stores.prefetchDriver(transaction.actor.id)
    }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let (stores, driver) = (transaction.stores, transaction.actor.id)
        let order = try stores.orders.order(job: id, driverID: driver)
        if let order, !order.code.hasSameBytes(as: id) {
            let codes = try stores.orders.openCodes(booking: id, driverID: driver)
            guard codes.count < 2 else { return .rejected(RuleError(.severalOrders, id, codes.joined(separator: ", "))) }
        }
        var transaction = transaction
        transaction.context.card = try stores.shownCard(ofDriver: driver)
        let reply = try transaction.plan { planner, context throws(RuleError) in
            try planner.accept(order: order, context)
        }
        transaction.recordAnswer(reply, order.map { .job($0.code) }, order?.assignment)
        return reply
    }
}
