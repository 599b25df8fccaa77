import Primitives

/// A command about a batch of orders. The actor is an admin or a driver, whose account the store finds.
package protocol BatchCommand: Command {}

extension RowBound {
    /// A batch, some notifications, and the driver's devices.
    static let batchNews = change + 4 * notification + 2 * push + 2
    /// The same with the batch's orders.
    static let batch = batchNews + BatchEdits.ordersMax
}

extension Transaction {
    /// Plans an action on a batch and writes it.
    /// - Parameter batch: nil: the caller gets 404.
    func change(
        _ batch: Batch?, by action: BatchAction, respond: (BatchDecision, [String]) -> BatchAnswer
    ) throws(DatabaseError) -> CommandReply {
        guard let batch else { return .rejected(RuleError(.unknownBatch)) }
        let reply = try plan { planner, context throws(RuleError) in
            try planner.plan(action, for: batch, context, using: &stores.random, respond: respond)
        }
        guard case .rejected(var error) = reply else { return reply }
        error.jobStatus = batch.status.rawValue
        return .rejected(error)
    }

    /// The same for an admin.
    func change(_ batch: Batch?, by action: BatchAction) throws(DatabaseError) -> CommandReply {
        try change(batch, by: action) { decision, ids in
            .changed(decision.message, decision.batch, notificationIDs: ids)
        }
    }

    /// The same for the driver who acts.
    func change(
        _ id: ObjectID, by action: (Account) throws(DatabaseError) -> BatchAction, respond: (Batch) -> BatchAnswer
    ) throws(DatabaseError) -> CommandReply {
        try withApprovedAccount { account throws(DatabaseError) in
            try change(try stores.batches.batch(id), by: try action(account)) { decision, _ in respond(decision.batch) }
        }
    }
}

extension BatchDriver {
    init(_ account: Account) {
        self.init(accountID: account.id, personID: Identifier(account.personID), name: account.registration.name)
    }
}
