import Primitives

// Why calls about batches are refused. Apps show the texts.

extension RuleError.Code {
    /// For the caller that finds no batch.
    package static let unknownBatch = Self("unknownBatch", .unknown, "Batch not found", summary: "Batch not found")
    /// No batch has the order, or the batch has not.
    package static let unknownBatchOrder = Self(
        "unknownBatchOrder", .unknown, "Order not found", summary: "Order not found")
    /// The batch has another driver, or none.
    package static let notAssigned = Self(
        "notAssigned", .forbidden, "You are not assigned to this batch", summary: "Not assigned to this batch")
    /// Another driver was faster.
    package static let batchTaken = Self(
        "batchTaken", .invalid, "This batch has been assigned to another driver",
        summary: "Batch already taken or not available")
    /// The batch is not offered yet, or it is over. Drivers read the same as of ``batchTaken``.
    package static let batchNotOffered = Self(
        "batchNotOffered", .invalid, "This batch has been assigned to another driver",
        summary: "Batch already taken or not available")
    /// A driver can have only one active batch.
    package static let activeBatch = Self(
        "activeBatch", .invalid, "Complete your current batch first", summary: "Driver already has an active batch")
    /// The driver picks up a batch that waits for no pickup.
    package static let notDispatched = Self(
        "notDispatched", .invalid, "Cannot mark as picked up. Current status: {}",
        summary: "Batch must be in DISPATCHED status")
    package static let notPickedUp = Self(
        "notPickedUp", .invalid, "Order has not been picked up", summary: "Order has not been picked up")
    package static let orderCancelled = Self(
        "orderCancelled", .conflict, "This order has been cancelled", summary: "Order cancelled")
    /// The driver reports a status that the order cannot have now.
    package static let wrongDeliveryStatus = Self(
        "wrongDeliveryStatus", .invalid, "Cannot change status from {} to {}", summary: "Invalid status transition")
    /// The customer's code was compared and is wrong. The caller records the attempt in ``OTPAttempts``.
    package static let wrongOTP = Self(
        "wrongOTP", .invalid, "Invalid OTP. Please check with customer.", summary: "Invalid OTP")
    /// Too many codes were wrong.
    package static let lockedOTP = Self(
        "lockedOTP", .limited, "Too many wrong codes for this order. Please try again later", summary: "Too many requests")
    /// The driver arranges the orders of a batch that waits, or is over.
    package static let notActive = Self(
        "notActive", .invalid, "Cannot change the sequence. Current status: {}", summary: "Batch is not active")
    /// The driver completes a batch with open orders.
    package static let pendingDeliveries = Self(
        "pendingDeliveries", .invalid, "{} still pending", summary: "Batch has pending deliveries")
    /// The driver completes a batch that waits, or was cancelled.
    package static let notCompletable = Self(
        "notCompletable", .invalid, "Cannot complete the batch. Current status: {}", summary: "Batch cannot be completed")

    // MARK: Admins

    /// For the caller that finds an order in another batch that is not over.
    package static let orderInOtherBatch = Self("orderInOtherBatch", .conflict, "Order {} is in another batch")
    /// A driver has accepted the batch, or it is over.
    package static let fixedOrders = Self("fixedOrders", .conflict, "{} is {}, its orders cannot be replaced")
    /// There would be nothing to deliver.
    package static let withoutOrders = Self("withoutOrders", .conflict, "{} has no order to deliver")
    /// The batch's state does not allow the action.
    package static let wrongBatchStatus = Self("wrongBatchStatus", .conflict, "{} is {}")
    /// The order's state does not allow the action.
    package static let wrongOrderStatus = Self("wrongOrderStatus", .conflict, "Order {} is {}")
    package static let driverNotApproved = Self("driverNotApproved", .conflict, "Driver {} is not approved")
    package static let driverHasBatch = Self("driverHasBatch", .conflict, "Driver {} already has an active batch")
}

extension RuleError {
    /// The driver completes a batch with open orders.
    static func pendingDeliveries(_ count: Int) -> RuleError {
        RuleError(.pendingDeliveries, count == 1 ? "1 delivery is" : "\(count) deliveries are")
    }
}
