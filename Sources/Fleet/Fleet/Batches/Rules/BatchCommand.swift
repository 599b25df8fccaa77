import Primitives

/// A write request that concerns batches of orders. Drivers are the actors; the store finds their accounts.
package enum BatchCommand: Equatable, Sendable {
    /// An admin creates or changes a batch.
    case edit(ObjectID, BatchEdits)
    case ready(ObjectID)
    /// The new driver is named by the account's id or as in channels.
    case reassign(ObjectID, driverID: String, reason: String?)
    case unassign(ObjectID, reason: String?)
    case cancel(ObjectID, reason: String?)
    case cancelOrder(ObjectID, inBatch: ObjectID, by: OrderCancellation.Party, reason: String?)
    case returnOrder(ObjectID, inBatch: ObjectID)
    /// The gateway itself offers the batch to drivers, because its window has ended.
    case open(ObjectID)
    case accept(ObjectID)
    case pickUp(ObjectID, notes: String?)
    case report(DeliveryReport, orderID: ObjectID)
    case arrange(ObjectID, [SequenceEntry])
    case complete(ObjectID, notes: String?)
    /// The driver reads the batch for the first time.
    case acknowledge(BatchReading)

    /// The command's name in metrics and in the operator's log.
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
        case .pickUp: "pickup"
        case .report: "status"
        case .arrange: "sequence"
        case .complete: "complete"
        case .acknowledge: "acknowledge"
        }
    }

    /// The id of the batch or, of a report, of the order, for the log. Empty for the driver's present batch.
    package var subject: String {
        switch self {
        case .edit(let id, _), .ready(let id), .reassign(let id, _, _), .unassign(let id, _), .cancel(let id, _),
            .open(let id), .accept(let id), .pickUp(let id, _), .arrange(let id, _), .complete(let id, _),
            .cancelOrder(_, let id, _, _), .returnOrder(_, let id), .report(_, let id), .acknowledge(.details(let id)):
            id.text
        case .acknowledge(.current): ""
        }
    }

    /// Who acts according to the audit log and the operator's log when the gateway itself opens a batch.
    package static let gatewayActor = "system:batches"
}

/// Which batch a driver reads.
package enum BatchReading: Equatable, Sendable {
    /// The batch that the driver has now.
    case current
    case details(ObjectID)
}

/// The response to an executed ``BatchCommand``.
package enum BatchResponse: Equatable, Sendable {
    /// To an admin. The string is the response's message.
    case changed(String, Batch, notificationIDs: [String])
    case accepted(Batch)
    case pickedUp(Batch)
    case reported(Batch, orderID: ObjectID)
    /// The stored response to the same report.
    case reportedBefore([UInt8])
    case arranged(Batch)
    case completed(Batch)
    case read(BatchView)
    /// The result of a command that the gateway gave itself. No client gets it.
    case opened
}

/// What a driver is shown of a batch.
package enum BatchView: Equatable, Sendable {
    /// Nil: the driver has no batch now.
    case current(Batch?)
    /// - Parameter driver: the account of the batch's driver; nil if there is none, or it was erased.
    case details(Batch, Batch.View, driver: Account?)
}

/// A request that reads batches of orders.
package enum BatchQuery: Equatable, Sendable {
    /// For an admin.
    case one(ObjectID)
    /// The batches that wait for a driver.
    case available(BatchListing)
    /// A batch as the driver sees it.
    case read(BatchReading, correlationID: String)
    /// What the driver has delivered.
    /// - Parameter since: counts batches that were completed at this time or later, in milliseconds since 1970; nil: all.
    case summary(since: Int64?, currency: String)
}

/// The result of a ``BatchQuery``.
package enum BatchResult: Equatable, Sendable {
    case one(Batch)
    case available([BatchListing.Entry])
    case read(BatchView)
    case summary(DeliverySummary, currency: String)
}
