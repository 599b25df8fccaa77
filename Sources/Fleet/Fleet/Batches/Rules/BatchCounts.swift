/// How many orders of a batch are delivered, failed and open. The only place that counts them.
package struct BatchCounts: Equatable, Sendable {
    package private(set) var delivered = 0
    /// Failed and returned orders.
    package private(set) var failed = 0
    /// Open orders.
    package private(set) var pending = 0
    /// Orders that were cancelled after the pickup. They are in no other count.
    package private(set) var cancelledAfterPickup = 0

    /// All orders but the cancelled ones.
    package var total: Int { delivered + failed + pending }

    package init(_ orders: [BatchOrder]) {
        for order in orders { add(order) }
    }

    private mutating func add(_ order: BatchOrder) {
        if let cancellation = order.cancellation {
            cancelledAfterPickup += cancellation.isAfterPickup ? 1 : 0
            return
        }
        switch order.assignment?.status {
        case .delivered: delivered += 1
        case .failed, .returned: failed += 1
        case nil, .assigned, .acknowledged, .pickedUp, .enRoute, .arrived: pending += 1
        case .cancelled: break  // has a cancellation
        }
    }

    /// The state in which a batch with these counts ends. Nil: it does not end, because orders are open.
    package var end: BatchStatus? {
        guard pending == 0 else { return nil }
        if failed > 0 || cancelledAfterPickup > 0 { return .partialComplete }
        return delivered > 0 ? .completed : .cancelled
    }
}
