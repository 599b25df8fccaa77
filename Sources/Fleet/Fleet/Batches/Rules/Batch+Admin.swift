import Primitives

// What admins, and the clock, do with a batch.

extension Batch {
    /// Merges the fields of a request. The orders may be replaced only until a driver accepts the batch.
    mutating func edit(_ edits: BatchEdits) throws(RuleError) -> Effect {
        try edits.check()
        edits.applyFields(to: &self)
        if let edited = edits.orders {
            switch status {
            case .collecting:
                orders = BatchEdits.orders(edited, replacing: orders)
            case .ready:
                orders = BatchEdits.orders(edited, replacing: orders)
                guard counts.pending > 0 else { throw withoutOrders }
            case .dispatched, .inProgress, .completed, .partialComplete, .cancelled:
                throw RuleError(.fixedOrders, label, status.rawValue)
            }
        }
        return .done(version == 0 ? "Batch created" : "Batch updated")
    }

    mutating func makeReady() throws(RuleError) -> Effect {
        switch status {
        case .collecting:
            guard counts.pending > 0 else { throw withoutOrders }
            status = .ready
            return .done("Batch is ready for dispatch", .available)
        case .ready: return .repeated("Batch is already ready for dispatch")
        case .dispatched, .inProgress, .completed, .partialComplete, .cancelled: throw refusal
        }
    }

    /// Gives the batch to another driver. The assignments keep their states.
    mutating func reassign(_ reassignment: Reassignment, at now: Int64) throws(RuleError) -> Effect {
        let new = reassignment.driver
        switch status {
        case .dispatched, .inProgress:
            if driver?.accountID == new.accountID { return .repeated("Batch is already assigned to this driver") }
            guard reassignment.isApproved else {
                throw RuleError(.driverNotApproved, new.accountID.text)
            }
            guard reassignment.activeBatch == nil else {
                throw RuleError(.driverHasBatch, new.accountID.text)
            }
            let former = driver
            (driver, driverAssignedAt) = (new, now)
            return Effect(
                message: "Batch reassigned", news: (former.map { [.reassigned(from: $0)] } ?? []) + [.assigned(to: new)])
        case .collecting, .ready, .completed, .partialComplete, .cancelled: throw refusal
        }
    }

    /// Takes the batch from its driver. The assignments are dropped: the next driver gets new ones.
    mutating func unassign() throws(RuleError) -> Effect {
        switch status {
        case .dispatched:
            let former = driver
            status = .ready
            (driver, driverAssignedAt, dispatchedAt) = (nil, nil, nil)
            for index in orders.indices { orders[index].assignment = nil }
            return Effect(
                message: "Batch unassigned", news: (former.map { [.reassigned(from: $0)] } ?? []) + [.available])
        case .collecting, .ready, .inProgress, .completed, .partialComplete, .cancelled: throw refusal
        }
    }

    /// Cancels the batch and its open orders.
    mutating func cancel(reason: String?, at now: Int64) throws(RuleError) -> Effect {
        switch status {
        case .collecting, .ready, .dispatched, .inProgress:
            for index in orders.indices where orders[index].isOpen {
                markCancelled(index, by: .admin, reason: reason, at: now)
            }
            let wasWaiting = status == .ready
            status = .cancelled
            let toDriver = driver.map { [BatchNews.cancelled($0, reason: reason)] } ?? []
            return Effect(message: "Batch cancelled", news: wasWaiting ? [.taken] : toDriver)
        case .cancelled: return .repeated("Batch is already cancelled")
        case .completed, .partialComplete: throw refusal
        }
    }

    /// Cancels an open order. That of the last open order ends the batch, unless the kitchen still collects orders.
    mutating func cancelOrder(
        _ id: ObjectID, by party: OrderCancellation.Party, reason: String?, at now: Int64
    ) throws(RuleError) -> Effect {
        let index = try index(of: id)
        let order = orders[index]
        guard !status.isEnd else { throw refusal }
        guard order.isOpen else { throw order.refusal }
        markCancelled(index, by: party, reason: reason, at: now)
        var news: [BatchNews] = []
        switch status {
        case .collecting: break
        case .ready:
            if counts.pending == 0 {
                status = .cancelled
                news = [.taken]
            }
        case .dispatched, .inProgress:
            if let driver {
                news = [.orderCancelled(driver, orderID: id, orderNumber: order.orderNumber, by: party)]
            }
            news += endIfOver(reason: reason, at: now)
        case .completed, .partialComplete, .cancelled: throw refusal
        }
        return Effect(message: "Order cancelled", news: news)
    }

    private mutating func markCancelled(
        _ index: Int, by party: OrderCancellation.Party, reason: String?, at now: Int64
    ) {
        orders[index].assignment?.status = .cancelled
        orders[index].cancellation = OrderCancellation(
            at: now, by: party, reason: reason, isAfterPickup: status == .inProgress)
    }

    /// Records that a failed order is back at the kitchen, also after the end of the batch. No count changes.
    mutating func returnOrder(_ id: ObjectID) throws(RuleError) -> Effect {
        let index = try index(of: id)
        guard orders[index].assignment?.status == .failed else { throw orders[index].refusal }
        orders[index].assignment?.status = .returned
        return .done("Order returned")
    }

    /// Offers the batch to drivers once its window has ended. Without an order to deliver it is cancelled.
    mutating func open(at now: Int64) -> Effect {
        guard isDue(at: now) else { return .repeated("Batch is already open, or its window has not ended") }
        guard counts.pending > 0 else {
            status = .cancelled
            return .done("Batch cancelled")
        }
        status = .ready
        return .done("Batch is ready for dispatch", .available)
    }

    /// 409: the state does not allow the action.
    private var refusal: RuleError { RuleError(.wrongBatchStatus, label, status.rawValue) }

    /// 409: there would be nothing to deliver.
    private var withoutOrders: RuleError { RuleError(.withoutOrders, label) }
}

extension BatchOrder {
    /// 409: the order's state does not allow the action.
    fileprivate var refusal: RuleError { RuleError(.wrongOrderStatus, id.text, statusWord) }
}
