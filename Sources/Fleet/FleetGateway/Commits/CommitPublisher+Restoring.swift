import Access
import FanOut
import Fleet
import Observability
import Threads

/// What the hub and the trips get at the start.
extension CommitPublisher {
    /// Restores what the hub and the trips knew: the assignments of open orders, who is under way where, and the
    /// notifications that the process before did not publish. Call it at the start.
    func restore(from executor: CommandExecutor) throws(DatabaseError) {
        try executor.openOrders { restore($0) }
        try trips.restore(from: executor)
        try executor.eachAccount { record(AccountChange($0)) }
        let now = Clock.unixMilliseconds()
        try executor.eachEndedTokens { endedSessions.record($0, now: now) }
        report(duplicates: try executor.customerDuplicates())
        order.withLock { $0.start(at: executor.logPosition) }
        // What other nodes are doing is not left over.
        if executor.isAlone { _ = try executor.recoverCodes() }
        let recovered = try executor.recover(now: Clock.unixMilliseconds())
        for notification in recovered { restore(notification) }
        guard !recovered.isEmpty else { return }
        log.warning(
            "notifications_recovered",
            [
                "count": .number(recovered.count),
                "hint": "the process before was killed: they are published when their channels have subscribers",
            ])
    }

    /// Names the accounts of customers that only the operator can join.
    private func report(duplicates: [(id: Int64, other: Int64)]) {
        guard !duplicates.isEmpty else { return }
        log.warning(
            "customers_with_one_phone",
            [
                "count": .number(duplicates.count),
                "accounts": .text(duplicates.prefix(50).map { "\($0.id) and \($0.other)" }.joined(separator: ", ")),
                "hint": "nobody can sign in to the first of each pair: see docs/codes.md",
            ])
    }

    /// Restores the assignment of an open order.
    func restore(_ order: Order) { hub.publish([], assignment: FleetAccess.JobAssignment(order), app: app) }

    private func restore(_ recovered: (notification: Notification, sequence: Int64, milliseconds: Int64)) {
        let expiresAt = Clock.monotonicMilliseconds() + recovered.milliseconds
        if let notification = hubNotification(recovered.notification, recovered.sequence, expiresAt: expiresAt) {
            hub.apply(.hold(notification, app: app))
        }
    }
}
