import Primitives

// What a driver does with a batch.

extension Batch {
    /// Gives the batch to the first driver who wants it.
    mutating func accept(
        _ new: BatchDriver, activeBatch: ObjectID?, at now: Int64, using random: inout some RandomNumberGenerator
    ) throws(RuleError) -> Effect {
        let message = "Batch accepted"
        switch status {
        case .ready:
            guard activeBatch == nil else { throw RuleError(.activeBatch) }
            status = .dispatched
            (driver, driverAssignedAt, dispatchedAt) = (new, now, now)
            for index in orders.indices where orders[index].isOpen {
                orders[index].assignment = OrderAssignment(id: .random(using: &random), assignedAt: now)
            }
            return .done(message, .taken, .accepted)
        case .dispatched, .inProgress:
            guard driver?.accountID == new.accountID else { throw RuleError(.batchTaken) }
            return .repeated(message)
        case .collecting, .completed, .partialComplete, .cancelled: throw RuleError(.batchNotOffered)
        }
    }

    mutating func acknowledge(by account: ObjectID) throws(RuleError) -> Effect {
        let message = "Batch acknowledged"
        try checkDriver(account)
        guard needsAcknowledgement(by: account) else { return .repeated(message) }
        for index in orders.indices where orders[index].assignment?.status == .assigned {
            orders[index].assignment?.status = .acknowledged
        }
        return .done(message)
    }

    mutating func pickUp(by account: ObjectID, at now: Int64) throws(RuleError) -> Effect {
        try checkDriver(account)
        switch status {
        case .dispatched:
            status = .inProgress
            pickedUpAt = now
            for index in orders.indices where orders[index].isOpen {
                orders[index].assignment?.status = .pickedUp
                orders[index].assignment?.pickedUpAt = now
            }
            return .done("Batch picked up", .pickedUp)
        case .collecting, .ready, .inProgress, .completed, .partialComplete, .cancelled:
            throw RuleError(.notDispatched, status.rawValue)
        }
    }

    /// Records a driver's report of an order. That of the last open order ends the batch.
    mutating func report(
        _ report: DeliveryReport, of orderID: ObjectID, by account: ObjectID, otp: OTPVerdict, at now: Int64
    ) throws(RuleError) -> Effect {
        let message = "Delivery status updated"
        let index = try index(of: orderID)
        try checkDriver(account)
        guard orders[index].cancellation == nil else { throw RuleError(.orderCancelled) }
        guard var assignment = orders[index].assignment else { throw RuleError(.notPickedUp) }
        if assignment.status == report.status.assignmentStatus, assignment.reportedBy == account { return .repeated(message) }
        try assignment.check(report.status)
        try assignment.record(report, otp: otp, at: now)
        assignment.reportedBy = account
        orders[index].assignment = assignment
        let progress: [BatchNews] = assignment.status.isOver ? [.progress] : []
        return Effect(message: message, news: progress + endIfOver(at: now))
    }

    mutating func complete(by account: ObjectID, at now: Int64) throws(RuleError) -> Effect {
        let message = "Batch completed"
        try checkDriver(account)
        switch status {
        case .dispatched, .inProgress:
            // The report or the cancellation of the last open order has ended the batch: there are open ones.
            throw .pendingDeliveries(counts.pending)
        case .completed, .partialComplete:
            guard closedAt == nil else { return .repeated(message) }
            closedAt = now
            return .done(message)
        case .collecting, .ready, .cancelled:
            throw RuleError(.notCompletable, status.rawValue)
        }
    }

    /// - Throws: `.forbidden` (403) if the batch is not this driver's.
    func checkDriver(_ account: ObjectID) throws(RuleError) {
        guard driver?.accountID == account else { throw RuleError(.notAssigned) }
    }
}

extension OrderAssignment {
    /// Checks that the driver may report `reported` now.
    fileprivate func check(_ reported: ReportedStatus) throws(RuleError) {
        switch status {
        case .assigned, .acknowledged: throw RuleError(.notPickedUp)
        case .cancelled: throw RuleError(.orderCancelled)
        case .pickedUp, .enRoute, .arrived, .delivered, .failed, .returned:
            guard !status.allows(reported) else { return }
            throw RuleError(.wrongDeliveryStatus, status.rawValue, reported.rawValue)
        }
    }

    /// Sets the status and what the report says of it.
    fileprivate mutating func record(_ report: DeliveryReport, otp: OTPVerdict, at now: Int64) throws(RuleError) {
        switch report.outcome {
        case .enRoute: enRouteAt = now
        case .arrived: arrivedAt = now
        case .delivered(let proof):
            self.proof = CheckedProof(proof, isOTPVerified: try proof.isOTPVerified(otp), verifiedAt: now)
            deliveredAt = now
            notes = report.notes
        case .failed(let reason):
            failureReason = reason
            failedAt = now
            notes = report.notes
        }
        status = report.status.assignmentStatus
    }
}
