import Primitives

/// A call that changes a batch.
package enum BatchAction: Equatable, Sendable {
    /// An admin creates or changes the batch.
    case edit(BatchEdits)
    /// An admin offers the batch to drivers before its window ends.
    case ready
    /// An admin gives the batch to another driver.
    case reassign(Reassignment)
    /// An admin takes the batch from its driver.
    case unassign(reason: String?)
    /// An admin cancels the batch.
    case cancel(reason: String?)
    /// An admin cancels an order.
    case cancelOrder(ObjectID, by: OrderCancellation.Party, reason: String?)
    /// An admin records that a failed order is back at the kitchen.
    case returnOrder(ObjectID)
    /// The gateway offers the batch to drivers, because its window has ended.
    case open
    /// A driver takes the batch.
    /// - Parameter activeBatch: the batch that occupies the driver; nil: none.
    case accept(BatchDriver, activeBatch: ObjectID?)
    /// The driver's app has shown the batch.
    case acknowledge(by: ObjectID)
    /// The driver has picked the batch up. The notes are for the audit log.
    case pickup(by: ObjectID, notes: String?)
    /// The driver reports how far an order is.
    /// - Parameter otp: how the order's code and the report's compare; ignored if the report has none.
    case report(DeliveryReport, of: ObjectID, by: ObjectID, otp: OTPVerdict)
    /// The driver changes the tour.
    case sequence([SequenceEntry], by: ObjectID)
    /// The driver ends the batch. The notes are for the audit log.
    case complete(by: ObjectID, notes: String?)

    /// The action's name in the audit log and in metrics.
    package var name: String {
        switch self {
        case .edit: "update"
        case .ready: "ready"
        case .reassign: "reassign"
        case .unassign: "unassign"
        case .cancel: "cancel"
        case .cancelOrder: "cancel_order"
        case .returnOrder: "return_order"
        case .open: "open"
        case .accept: "accept"
        case .acknowledge: "acknowledge"
        case .pickup: "pickup"
        case .report: "status"
        case .sequence: "sequence"
        case .complete: "complete"
        }
    }

    /// The admin's reason. Nil: none was given, or the action has none.
    package var reason: String? {
        switch self {
        case .reassign(let reassignment): reassignment.reason
        case .unassign(let reason), .cancel(let reason), .cancelOrder(_, _, let reason): reason
        case .edit, .ready, .returnOrder, .open, .accept, .acknowledge, .pickup, .report, .sequence, .complete: nil
        }
    }

    /// The order that the action concerns. Nil: the whole batch.
    package var orderID: ObjectID? {
        switch self {
        case .cancelOrder(let id, _, _), .returnOrder(let id), .report(_, let id, _, _): id
        case .edit, .ready, .reassign, .unassign, .cancel, .open, .accept, .acknowledge, .pickup, .sequence, .complete: nil
        }
    }
}

/// An admin's choice of another driver, with what the rules must know of that driver.
package struct Reassignment: Equatable, Sendable {
    package let driver: BatchDriver
    /// Whether the driver's account is approved.
    package let isApproved: Bool
    /// The batch that occupies the driver; nil: none.
    package let activeBatch: ObjectID?
    package let reason: String?

    package init(to driver: BatchDriver, isApproved: Bool, activeBatch: ObjectID?, reason: String?) {
        self.driver = driver
        self.isApproved = isApproved
        self.activeBatch = activeBatch
        self.reason = reason
    }
}
