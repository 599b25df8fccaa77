import Primitives

package struct AcceptBatch: BatchCommand {
    package let id: ObjectID

    package init(_ id: ObjectID) { self.id = id }

    package var name: String { "accept" }
    package var priority: RequestPriority { .jobs }
    package var subject: String { id.text }
    package var rows: Int { RowBound.batch }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        try transaction.change(
            id,
            by: { account throws(DatabaseError) in
                let active = try transaction.stores.batches.active(of: account.id)?.id
                return .accept(BatchDriver(account), activeBatch: active)
            }, respond: { .accepted($0) })
    }
}

package struct PickUpBatch: BatchCommand {
    package let id: ObjectID
    package let notes: String?

    package init(_ id: ObjectID, notes: String?) {
        self.id = id
        self.notes = notes
    }

    package var name: String { "pickup" }
    package var priority: RequestPriority { .jobs }
    package var subject: String { id.text }
    package var rows: Int { RowBound.batch }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        try transaction.change(id, by: { .pickup(by: $0.id, notes: notes) }, respond: { .pickedUp($0) })
    }
}

/// The driver puts the orders in the order of the tour.
package struct ArrangeBatch: BatchCommand {
    package let id: ObjectID
    package let entries: [SequenceEntry]

    package init(_ id: ObjectID, _ entries: [SequenceEntry]) {
        self.id = id
        self.entries = entries
    }

    package var name: String { "sequence" }
    package var priority: RequestPriority { .jobs }
    package var subject: String { id.text }
    package var rows: Int { RowBound.batch }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        try transaction.change(id, by: { .sequence(entries, by: $0.id) }, respond: { .arranged($0) })
    }
}

package struct CompleteBatch: BatchCommand {
    package let id: ObjectID
    package let notes: String?

    package init(_ id: ObjectID, notes: String?) {
        self.id = id
        self.notes = notes
    }

    package var name: String { "complete" }
    package var priority: RequestPriority { .jobs }
    package var subject: String { id.text }
    package var rows: Int { RowBound.batch }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        try transaction.change(id, by: { .complete(by: $0.id, notes: notes) }, respond: { .completed($0) })
    }
}

/// The driver reads the batch for the first time, which is recorded. The response is that of the query.
package struct AcknowledgeBatch: BatchCommand {
    package let reading: BatchReading

    package init(_ reading: BatchReading) { self.reading = reading }

    package var name: String { "acknowledge" }
    package var priority: RequestPriority { .jobs }
    /// Empty for the driver's present batch.
    package var subject: String { if case .details(let id) = reading { id.text } else { "" } }
    package var rows: Int { RowBound.batch }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let batches = transaction.stores.batches
        return try transaction.withApprovedAccount { account throws(DatabaseError) in
            switch reading {
            case .current:
                // The batch may have been taken from the driver since the query.
                guard let batch = try batches.active(of: account.id) else {
                    return transaction.committed(.batch(.read(.current(nil))))
                }
                return try transaction.change(batch, by: .acknowledge(by: account.id)) { decision, _ in
                    .read(.current(decision.batch))
                }
            case .details(let id):
                return try transaction.change(try batches.batch(id), by: .acknowledge(by: account.id)) { decision, _ in
                    .read(.details(decision.batch, .whole, driver: account))
                }
            }
        }
    }
}
