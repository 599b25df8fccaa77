import Access
import Primitives

/// The gateway itself, in the name of the actor, a driver, does something for a trip.
extension TripStep: Command {
    package var name: String { isArrival ? "progress" : "trip_moment" }
    package var priority: RequestPriority { .jobs }
    package var subject: String { orderCode }
    package var origin: CommandOrigin { .gateway(DispatchPlanner.actor) }

    package var rows: Int {
        isArrival
            ? RowBound.change + 5 * RowBound.notification + 2 * RowBound.bookingPush
            : RowBound.change + RowBound.notification + RowBound.bookingPush
    }

    private var isArrival: Bool { if case .arrive = kind { true } else { false } }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        var transaction = transaction
        transaction.context.card = try transaction.stores.shownCard(ofDriver: driverID)
        let order = try transaction.stores.orders.order(code: orderCode)
        return try transaction.plan { planner, context throws(RuleError) in
            // A step that comes too late has no effect.
            try planner.plan(self, of: order, context) ?? DispatchPlan(response: .ofGateway)
        }
    }
}

/// The actor, a driver, reports a step of an order, which is identified as in ``AcceptJob``.
package struct ReportProgress: Command {
    package let id: String
    package let report: ProgressReport

    package init(_ id: String, _ report: ProgressReport) {
        self.id = id
        self.report = report
    }

    package var name: String { "progress" }
    package var priority: RequestPriority { .jobs }
    package var subject: String { id }
    package var rows: Int { RowBound.change + 5 * RowBound.notification + 2 * RowBound.bookingPush }

    package func prefetch(_ transaction: Transaction) throws(DatabaseError) {
        try transaction.stores.orders.prefetch(code: id)
        try transaction.stores.prefetchDriver(transaction.actor.id)
    }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let (stores, actor) = (transaction.stores, transaction.actor)
        let order = try stores.orders.order(job: id, driverID: actor.id)
        var last: AuditEntry?
        if let order, order.assignment.status == report.step { last = try stores.auditTable.last(ofOrder: order.code) }
        var history = ArrivalHistory()
        if let order, report.takesBackArrival(of: order) {
            history = try stores.auditTable.arrivalHistory(ofOrder: order.code, by: actor.key)
        }
        var transaction = transaction
        transaction.context.card = try stores.shownCard(ofDriver: actor.id)
        transaction.context.track = stores.track(actor.id)
        let position = report.position(at: transaction.now)
        if let position, transaction.context.track.newest.map({ $0.recordedAt <= position.recordedAt }) ?? true {
            transaction.context.track.add(position, stores.trips)
        }
        let reply = try transaction.plan { [last, history] planner, context throws(RuleError) in
            try planner.progress(report, of: order, after: last, given: history, context)
        }
        switch reply {
        case .rejected(var error):
            error.jobStatus = order?.assignment.status.rawValue
            return .rejected(error)
        case .committed(var result):
            result.effects.show(transaction.context.card)
            // A report that is sent again, up to ten minutes later, says nothing about where the driver is now.
            if let position, !result.isRepetition {
                result.effects.append(.positionReported(DriverPosition(driverID: actor.id, position: position)))
            }
            return .committed(result)
        case .deferred, .replayed, .unavailable, .failed: return reply
        }
    }
}

/// The actor, an admin, takes back the arrival at the pickup of the order with this code.
package struct CorrectArrival: Command {
    package let code: String
    package let reason: String?

    package init(_ code: String, reason: String?) {
        self.code = code
        self.reason = reason
    }

    package var name: String { "correct" }
    package var priority: RequestPriority { .dispatch }
    package var subject: String { code }
    package var rows: Int { RowBound.change + 3 * RowBound.notification + RowBound.push + RowBound.bookingPush }

    package func prefetch(_ transaction: Transaction) throws(DatabaseError) {
        try transaction.stores.orders.prefetch(code: code)
    }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let stores = transaction.stores
        let order = try stores.orders.order(code: code)
        var transaction = transaction
        if let driver = order?.assignment.driver?.id.text {
            transaction.context.card = try stores.shownCard(ofDriver: driver)
            transaction.context.track = stores.track(driver)
        }
        let reply = try transaction.plan { planner, context throws(RuleError) in
            try planner.correctArrival(code, of: order, reason: reason, context)
        }
        guard case .committed(var result) = reply else { return reply }
        result.effects.show(transaction.context.card)
        return .committed(result)
    }
}
