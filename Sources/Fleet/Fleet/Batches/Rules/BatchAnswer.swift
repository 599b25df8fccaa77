import Primitives

/// Which batch a driver reads.
package enum BatchReading: Equatable, Sendable {
    /// The batch that the driver has now.
    case current
    case details(ObjectID)
}

/// The response to a command about a batch of orders.
package enum BatchAnswer: Equatable, Sendable {
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
    case read(BatchReading)
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
