import Primitives

// Why calls about batches are refused. Apps show the texts.

extension RuleError {
    /// 404, for the caller that finds no batch.
    package static let unknownBatch = RuleError(.unknown, "Batch not found", summary: "Batch not found")
    /// 404.
    package static let unknownOrder = RuleError(.unknown, "Order not found", summary: "Order not found")
    /// 403: the batch has another driver, or none.
    package static let notAssigned = RuleError(
        .forbidden, "You are not assigned to this batch", summary: "Not assigned to this batch")
    /// 400: another driver was faster, or the batch is not offered.
    package static let batchTaken = RuleError(
        .invalid, "This batch has been assigned to another driver", summary: "Batch already taken or not available")
    /// 400: a driver can have only one active batch.
    package static let activeBatch = RuleError(
        .invalid, "Complete your current batch first", summary: "Driver already has an active batch")
    /// 400.
    package static let notPickedUp = RuleError(
        .invalid, "Order has not been picked up", summary: "Order has not been picked up")
    /// 409.
    package static let orderCancelled = RuleError(.conflict, "This order has been cancelled", summary: "Order cancelled")
    /// 400. The caller records the attempt in ``OTPAttempts``.
    package static let wrongOTP = RuleError(
        .invalid, "Invalid OTP. Please check with customer.", summary: "Invalid OTP")

    /// 429.
    package static func lockedOTP(seconds: Int) -> RuleError {
        RuleError(
            .limited, "Too many wrong codes for this order. Please try again later", summary: "Too many requests",
            retryAfterSeconds: seconds)
    }

    /// 409, for the caller that finds an order in another batch that is not over.
    package static func orderInOtherBatch(_ id: ObjectID) -> RuleError {
        RuleError(.conflict, "Order \(id.text) is in another batch")
    }

    /// 400: the driver completes a batch with open orders.
    static func pendingDeliveries(_ count: Int) -> RuleError {
        RuleError(
            .invalid, count == 1 ? "1 delivery is still pending" : "\(count) deliveries are still pending",
            summary: "Batch has pending deliveries")
    }
}
