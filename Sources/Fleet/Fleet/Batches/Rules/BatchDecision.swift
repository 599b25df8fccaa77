import Primitives

/// What an action makes of a batch.
package struct BatchDecision: Equatable, Sendable {
    /// The batch after the action, with its new version and `updatedAt`; unchanged if the action is a repetition.
    package let batch: Batch
    /// What is to be told, in this order.
    package let news: [BatchNews]
    /// The response's message. Of a repeated admin's action it contains "already".
    package let message: String
    /// Whether the batch is already as the action wants it, so that nothing changes, and nothing is told or recorded.
    package let isRepetition: Bool
}

/// Something that drivers or admins are to be told of a batch. The batch's fields are those of the decision.
package enum BatchNews: Equatable, Sendable {
    /// To all drivers: the batch waits for a driver, for the first time or again.
    case available
    /// To all drivers: the batch no longer waits, because a driver has it, or because it is cancelled.
    case taken
    /// To the former driver: the batch is no longer theirs.
    case reassigned(from: BatchDriver)
    /// To the new driver: an admin gave them the batch.
    case assigned(to: BatchDriver)
    /// To the driver: the batch is cancelled.
    case cancelled(BatchDriver, reason: String?)
    /// To the driver: an order is cancelled.
    case orderCancelled(BatchDriver, orderID: ObjectID, orderNumber: String, by: OrderCancellation.Party)
    /// To admins: the driver accepted the batch.
    case accepted
    /// To admins: the driver picked the batch up.
    case pickedUp
    /// To admins: the driver delivered or failed an order.
    case progress
    /// To admins: the batch is over.
    case completed
}

extension Batch {
    /// What an action changes, and what is told about it.
    struct Effect {
        let message: String
        var news: [BatchNews] = []
        var isRepetition = false

        static func done(_ message: String, _ news: BatchNews...) -> Effect { Effect(message: message, news: news) }
        static func repeated(_ message: String) -> Effect { Effect(message: message, isRepetition: true) }
    }

    /// Decides about any action in any state.
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - random: for the ids of assignments.
    /// - Throws: why the action is refused. A wrong code (``RuleError/Code/wrongOTP``) has to be recorded in ``OTPAttempts``.
    package func apply(
        _ action: BatchAction, at now: Int64, using random: inout some RandomNumberGenerator
    ) throws(RuleError) -> BatchDecision {
        var batch = self
        let effect: Effect
        switch action {
        case .edit(let edits): effect = try batch.edit(edits)
        case .ready: effect = try batch.makeReady()
        case .reassign(let reassignment): effect = try batch.reassign(reassignment, at: now)
        case .unassign: effect = try batch.unassign()
        case .cancel(let reason): effect = try batch.cancel(reason: reason, at: now)
        case .cancelOrder(let id, let party, let reason): effect = try batch.cancelOrder(id, by: party, reason: reason, at: now)
        case .returnOrder(let id): effect = try batch.returnOrder(id)
        case .open: effect = batch.open(at: now)
        case .accept(let driver, let active): effect = try batch.accept(driver, activeBatch: active, at: now, using: &random)
        case .acknowledge(let account): effect = try batch.acknowledge(by: account)
        case .pickup(let account, _): effect = try batch.pickUp(by: account, at: now)
        case .report(let report, let id, let account, let otp):
            effect = try batch.report(report, of: id, by: account, otp: otp, at: now)
        case .sequence(let entries, let account): effect = try batch.arrange(entries, by: account)
        case .complete(let account, _): effect = try batch.complete(by: account, at: now)
        }
        guard !effect.isRepetition else {
            return BatchDecision(batch: self, news: [], message: effect.message, isRepetition: true)
        }
        batch.updatedAt = now
        batch.version += 1
        return BatchDecision(batch: batch, news: effect.news, message: effect.message, isRepetition: false)
    }

    /// The index of an order.
    /// - Throws: `.unknown` (404).
    func index(of orderID: ObjectID) throws(RuleError) -> Int {
        guard let index = orders.firstIndex(where: { $0.id == orderID }) else { throw RuleError(.unknownBatchOrder) }
        return index
    }

    /// Ends an accepted batch if it has no open order.
    /// - Returns: what is told of the end; empty if the batch goes on.
    mutating func endIfOver(reason: String? = nil, at now: Int64) -> [BatchNews] {
        guard let end = counts.end else { return [] }
        status = end
        guard end.isCompletion else { return driver.map { [.cancelled($0, reason: reason)] } ?? [] }
        completedAt = now
        return [.completed]
    }
}
