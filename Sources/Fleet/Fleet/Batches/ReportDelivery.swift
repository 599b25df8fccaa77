import Primitives

/// The driver reports how far an order of the batch has come. A wrong code is recorded too, although the driver gets an
/// error: the attempts are limited.
package struct ReportDelivery: BatchCommand {
    package let report: DeliveryReport
    package let orderID: ObjectID

    package init(_ report: DeliveryReport, orderID: ObjectID) {
        self.report = report
        self.orderID = orderID
    }

    package var name: String { "status" }
    package var priority: RequestPriority { .jobs }
    package var subject: String { orderID.text }
    package var rows: Int { RowBound.batchNews + 4 }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        try transaction.withApprovedAccount { account throws(DatabaseError) in
            try record(by: account, transaction)
        }
    }

    private func record(by account: Account, _ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let batches = transaction.stores.batches
        guard let batch = try batches.batch(ofOrder: orderID), let order = batch.orders.first(where: { $0.id == orderID })
        else { return .rejected(RuleError(.unknownBatchOrder)) }
        // A jump of the clock must not end the lock.
        let trusted = transaction.trustedNow
        var attempts = try batches.orders.attempts(for: orderID)
        let before = try batches.orders.reportResponse(of: orderID, in: batch.id)
        let verdict = verdict(for: order, attempts, transaction.stores.deliveryCodes, trusted)
        let reply = try transaction.change(batch, by: .report(report, of: orderID, by: account.id, otp: verdict)) {
            decision, _ in
            if decision.isRepetition, let before { return .reportedBefore(before) }
            return .reported(decision.batch, orderID: orderID)
        }
        switch reply {
        case .rejected(let error) where error.code == .wrongOTP:
            attempts.recordWrong(at: trusted)
            try batches.orders.store(attempts, for: orderID, now: trusted)
        case .committed(let result) where !result.isRepetition:
            try batches.orders.store(reportResponse: result.body, of: orderID, in: batch.id)
        case .committed, .deferred, .replayed, .rejected, .unavailable, .failed: break
        }
        return reply
    }

    private func verdict(
        for order: BatchOrder, _ attempts: OTPAttempts, _ codes: DeliveryCodes, _ now: Int64
    ) -> OTPVerdict {
        guard let digits = report.otp, let code = order.otp else { return .notRequired }
        return attempts.verdict(at: now) { codes.matches(digits, code, of: order.id) }
    }
}
