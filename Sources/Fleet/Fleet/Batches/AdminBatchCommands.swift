import Primitives

/// An admin creates or changes a batch.
package struct EditBatch: BatchCommand {
    package let id: ObjectID
    package let edits: BatchEdits

    package init(_ id: ObjectID, _ edits: BatchEdits) {
        self.id = id
        self.edits = edits
    }

    package var name: String { "update" }
    package var priority: RequestPriority { .dispatch }
    package var subject: String { id.text }
    package var rows: Int { RowBound.batch + 2 * (edits.orders?.count ?? 0) }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let batches = transaction.stores.batches
        if let order = try batches.orderElsewhere(edits.orders?.map(\.id) ?? [], than: id) {
            return .rejected(RuleError(.orderInOtherBatch, order.text))
        }
        let stored = try batches.batch(id) ?? Batch(id: id, createdAt: transaction.now)
        return try transaction.change(stored, by: .edit(sealed(transaction.stores.deliveryCodes)))
    }

    private func sealed(_ codes: DeliveryCodes) -> BatchEdits {
        var edits = edits
        edits.orders = edits.orders?.map { order in
            guard case .digits(let digits) = order.otp else { return order }
            var order = order
            order.otp = codes.seal(digits, of: order.id)
            return order
        }
        return edits
    }
}

package struct ReadyBatch: BatchCommand {
    package let id: ObjectID

    package init(_ id: ObjectID) { self.id = id }

    package var name: String { "ready" }
    package var priority: RequestPriority { .dispatch }
    package var subject: String { id.text }
    package var rows: Int { RowBound.batch }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        try transaction.change(try transaction.stores.batches.batch(id), by: .ready)
    }
}

package struct ReassignBatch: BatchCommand {
    package let id: ObjectID
    /// The new driver's id in channels, or that of the account.
    package let driverID: String
    package let reason: String?

    package init(_ id: ObjectID, driverID: String, reason: String?) {
        self.id = id
        self.driverID = driverID
        self.reason = reason
    }

    package var name: String { "reassign" }
    package var priority: RequestPriority { .dispatch }
    package var subject: String { id.text }
    package var rows: Int { RowBound.batch }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let stores = transaction.stores
        guard let batch = try stores.batches.batch(id) else { return .rejected(RuleError(.unknownBatch)) }
        guard let account = try stores.accounts.account(ofDriver: driverID) else { return .rejected(RuleError(.unknownAccount)) }
        let reassignment = Reassignment(
            to: BatchDriver(account), isApproved: account.status == .active,
            activeBatch: try stores.batches.active(of: account.id)?.id, reason: reason)
        return try transaction.change(batch, by: .reassign(reassignment))
    }
}

package struct UnassignBatch: BatchCommand {
    package let id: ObjectID
    package let reason: String?

    package init(_ id: ObjectID, reason: String?) {
        self.id = id
        self.reason = reason
    }

    package var name: String { "unassign" }
    package var priority: RequestPriority { .dispatch }
    package var subject: String { id.text }
    package var rows: Int { RowBound.batch }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        try transaction.change(try transaction.stores.batches.batch(id), by: .unassign(reason: reason))
    }
}

package struct CancelBatch: BatchCommand {
    package let id: ObjectID
    package let reason: String?

    package init(_ id: ObjectID, reason: String?) {
        self.id = id
        self.reason = reason
    }

    package var name: String { "cancel" }
    package var priority: RequestPriority { .dispatch }
    package var subject: String { id.text }
    package var rows: Int { RowBound.batch }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        try transaction.change(try transaction.stores.batches.batch(id), by: .cancel(reason: reason))
    }
}

package struct CancelBatchOrder: BatchCommand {
    package let order: ObjectID
    package let batch: ObjectID
    package let party: OrderCancellation.Party
    package let reason: String?

    package init(_ order: ObjectID, inBatch batch: ObjectID, by party: OrderCancellation.Party, reason: String?) {
        self.order = order
        self.batch = batch
        self.party = party
        self.reason = reason
    }

    package var name: String { "cancel_order" }
    package var priority: RequestPriority { .dispatch }
    package var subject: String { batch.text }
    package var rows: Int { RowBound.batchNews + 4 }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        try transaction.change(
            try transaction.stores.batches.batch(batch), by: .cancelOrder(order, by: party, reason: reason))
    }
}

package struct ReturnBatchOrder: BatchCommand {
    package let order: ObjectID
    package let batch: ObjectID

    package init(_ order: ObjectID, inBatch batch: ObjectID) {
        self.order = order
        self.batch = batch
    }

    package var name: String { "return_order" }
    package var priority: RequestPriority { .dispatch }
    package var subject: String { batch.text }
    package var rows: Int { RowBound.batchNews + 4 }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        try transaction.change(try transaction.stores.batches.batch(batch), by: .returnOrder(order))
    }
}

/// The gateway itself offers the batch to drivers, because its window has ended.
package struct OpenBatch: BatchCommand {
    package let id: ObjectID

    package init(_ id: ObjectID) { self.id = id }

    package var name: String { "open" }
    package var priority: RequestPriority { .dispatch }
    package var subject: String { id.text }
    package var rows: Int { RowBound.batch }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        try transaction.change(try transaction.stores.batches.batch(id), by: .open) { _, _ in .opened }
    }
}
