import Access
import Primitives

/// Executes the commands that concern batches of orders.
extension CommandExecutor {
    func execute(
        _ request: BatchCommand, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        switch request {
        case .edit(let id, let edits): try edit(id, edits, command, context)
        case .ready(let id): try change(.ready, id, command, context)
        case .reassign(let id, let driver, let reason): try reassign(id, to: driver, reason, command, context)
        case .unassign(let id, let reason): try change(.unassign(reason: reason), id, command, context)
        case .cancel(let id, let reason): try change(.cancel(reason: reason), id, command, context)
        case .cancelOrder(let order, let id, let party, let reason):
            try change(.cancelOrder(order, by: party, reason: reason), id, command, context)
        case .returnOrder(let order, let id): try change(.returnOrder(order), id, command, context)
        case .open(let id):
            try execute(.open, on: try batches.batch(id), command, context) { _, _ in .opened }
        case .accept(let id): try accept(id, command, context)
        case .report(let report, let order):
            try withApprovedAccount(of: command.actor) { account throws(DatabaseError) in
                try record(report, of: order, by: account, command, context)
            }
        case .acknowledge(let reading):
            try withApprovedAccount(of: command.actor) { account throws(DatabaseError) in
                try acknowledge(reading, by: account, command, context)
            }
        case .pickUp(let id, let notes):
            try act(on: id, command, context, { .pickup(by: $0.id, notes: notes) }, respond: { .pickedUp($0) })
        case .arrange(let id, let entries):
            try act(on: id, command, context, { .sequence(entries, by: $0.id) }, respond: { .arranged($0) })
        case .complete(let id, let notes):
            try act(on: id, command, context, { .complete(by: $0.id, notes: notes) }, respond: { .completed($0) })
        }
    }

    /// Plans an action on a batch and writes it.
    /// - Parameter batch: nil: the caller gets 404.
    private func execute(
        _ action: BatchAction, on batch: Batch?, _ command: Command, _ context: CommandContext,
        respond: (BatchDecision, [String]) -> BatchResponse
    ) throws(DatabaseError) -> CommandReply {
        guard let batch else { return .rejected(RuleError(.unknownBatch)) }
        let reply = try execute(command, context.now) { planner throws(RuleError) in
            try planner.plan(action, for: batch, context, using: &random, respond: respond)
        }
        guard case .rejected(var error) = reply else { return reply }
        error.jobStatus = batch.status.rawValue
        return .rejected(error)
    }

    // MARK: Admins

    private func change(
        _ action: BatchAction, _ id: ObjectID, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        try execute(action, on: try batches.batch(id), command, context, respond: Self.changed)
    }

    private static func changed(_ decision: BatchDecision, _ ids: [String]) -> BatchResponse {
        .changed(decision.message, decision.batch, notificationIDs: ids)
    }

    private func edit(
        _ id: ObjectID, _ edits: BatchEdits, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        if let order = try batches.orderElsewhere(edits.orders?.map(\.id) ?? [], than: id) {
            return .rejected(RuleError(.orderInOtherBatch, order.text))
        }
        let stored = try batches.batch(id) ?? Batch(id: id, createdAt: context.now)
        return try execute(.edit(sealed(edits)), on: stored, command, context, respond: Self.changed)
    }

    private func sealed(_ edits: BatchEdits) -> BatchEdits {
        var edits = edits
        edits.orders = edits.orders?.map { order in
            guard case .digits(let digits) = order.otp else { return order }
            var order = order
            order.otp = deliveryCodes.seal(digits, of: order.id)
            return order
        }
        return edits
    }

    private func reassign(
        _ id: ObjectID, to driver: String, _ reason: String?, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        guard let batch = try batches.batch(id) else { return .rejected(RuleError(.unknownBatch)) }
        guard let account = try accounts.account(ofDriver: driver) else { return .rejected(RuleError(.unknownAccount)) }
        let reassignment = Reassignment(
            to: BatchDriver(account), isApproved: account.status == .active,
            activeBatch: try batches.active(of: account.id)?.id, reason: reason)
        return try execute(.reassign(reassignment), on: batch, command, context, respond: Self.changed)
    }

    // MARK: Drivers

    /// Executes an action of the driver who acts.
    private func act(
        on id: ObjectID, _ command: Command, _ context: CommandContext, _ action: (Account) -> BatchAction,
        respond: (Batch) -> BatchResponse
    ) throws(DatabaseError) -> CommandReply {
        try withApprovedAccount(of: command.actor) { account throws(DatabaseError) in
            try execute(action(account), on: try batches.batch(id), command, context) { decision, _ in
                respond(decision.batch)
            }
        }
    }

    private func accept(
        _ id: ObjectID, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        try withApprovedAccount(of: command.actor) { account throws(DatabaseError) in
            let active = try batches.active(of: account.id)?.id
            let action = BatchAction.accept(BatchDriver(account), activeBatch: active)
            return try execute(action, on: try batches.batch(id), command, context) { decision, _ in
                .accepted(decision.batch)
            }
        }
    }

    /// Records a report. A wrong code is recorded too, although the driver gets an error: the attempts are limited.
    private func record(
        _ report: DeliveryReport, of orderID: ObjectID, by account: Account, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        guard let batch = try batches.batch(ofOrder: orderID), let order = batch.orders.first(where: { $0.id == orderID })
        else { return .rejected(RuleError(.unknownBatchOrder)) }
        // A jump of the clock must not end the lock.
        let trusted = context.now - clockLead
        var attempts = try batches.orders.attempts(for: orderID)
        let before = try batches.orders.reportResponse(of: orderID, in: batch.id)
        let action = BatchAction.report(
            report, of: orderID, by: account.id, otp: verdict(on: report.otp, for: order, attempts, trusted))
        let reply = try execute(action, on: batch, command, context) { decision, _ in
            if decision.isRepetition, let before { return .reportedBefore(before) }
            return .reported(decision.batch, orderID: orderID)
        }
        switch reply {
        case .rejected(let error) where error.code == .wrongOTP:
            attempts.recordWrong(at: trusted)
            try batches.orders.store(attempts, for: orderID, now: trusted)
        case .committed(let result) where !result.isRepetition:
            try batches.orders.store(reportResponse: result.body, of: orderID, in: batch.id)
        case .committed, .replayed, .rejected, .unavailable, .failed: break
        }
        return reply
    }

    private func verdict(
        on digits: String?, for order: BatchOrder, _ attempts: OTPAttempts, _ now: Int64
    ) -> OTPVerdict {
        guard let digits, let code = order.otp else { return .notRequired }
        return attempts.verdict(at: now) { deliveryCodes.matches(digits, code, of: order.id) }
    }

    /// Records that the driver has read the batch, and answers as the query would.
    private func acknowledge(
        _ reading: BatchReading, by account: Account, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        switch reading {
        case .current:
            // The batch may have been taken from the driver since the query.
            guard let batch = try batches.active(of: account.id) else {
                return .committed(result(.batch(.read(.current(nil))), of: command))
            }
            return try execute(.acknowledge(by: account.id), on: batch, command, context) { decision, _ in
                .read(.current(decision.batch))
            }
        case .details(let id):
            return try execute(.acknowledge(by: account.id), on: try batches.batch(id), command, context) { decision, _ in
                .read(.details(decision.batch, .whole, driver: account))
            }
        }
    }

    /// Executes what only drivers with an approved account may do.
    func withApprovedAccount(
        of actor: Identity, _ execute: (Account) throws(DatabaseError) -> CommandReply
    ) throws(DatabaseError) -> CommandReply {
        switch try accounts.approvedAccount(of: actor) {
        case .failure(let refusal): .rejected(refusal)
        case .success(let account): try execute(account)
        }
    }
}

extension AccountTable {
    /// The account of a driver who acts, by the Firebase user or, with a token of another issuer, by the id in channels.
    /// - Returns: a failure if there is none, or it is not approved.
    func approvedAccount(of actor: Identity) throws(DatabaseError) -> Result<Account, RuleError> {
        let account = try account(of: actor)
        if let refusal = AccountGate.refusal(.approved, account?.entry) { return .failure(refusal) }
        return account.map { .success($0) } ?? .failure(RuleError(.unknownAccount))
    }

    /// The account of a driver who acts; nil if there is none.
    func account(of actor: Identity) throws(DatabaseError) -> Account? {
        if let user = actor.firebase { return try account(uid: user.uid) }
        return try account(personID: actor.id)
    }
}

extension BatchDriver {
    init(_ account: Account) {
        self.init(accountID: account.id, personID: Identifier(account.personID), name: account.registration.name)
    }
}
