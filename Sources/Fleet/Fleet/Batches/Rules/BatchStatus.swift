/// The state of a batch, from the kitchen's collecting of orders to the end. The raw value is the word that apps know.
package enum BatchStatus: String, CaseIterable, Sendable {
    /// The kitchen's window is open: orders are added.
    case collecting = "COLLECTING"
    /// Waits for a driver.
    case ready = "READY_FOR_DISPATCH"
    /// A driver has accepted it.
    case dispatched = "DISPATCHED"
    /// The driver has picked it up.
    case inProgress = "IN_PROGRESS"
    /// All orders that were not cancelled before the pickup are delivered.
    case completed = "COMPLETED"
    /// At least one order failed, was returned, or was cancelled after the pickup.
    case partialComplete = "PARTIAL_COMPLETE"
    /// An admin cancelled it, or all its orders were cancelled.
    case cancelled = "CANCELLED"

    /// Whether the batch is over. No call changes the state of such a batch.
    package var isEnd: Bool {
        switch self {
        case .collecting, .ready, .dispatched, .inProgress: false
        case .completed, .partialComplete, .cancelled: true
        }
    }

    /// Whether the batch occupies its driver, who may have only one such batch.
    package var isActive: Bool {
        switch self {
        case .dispatched, .inProgress: true
        case .collecting, .ready, .completed, .partialComplete, .cancelled: false
        }
    }

    /// Whether the batch ended after its pickup, so that it counts in a driver's summary.
    package var isCompletion: Bool {
        switch self {
        case .completed, .partialComplete: true
        case .collecting, .ready, .dispatched, .inProgress, .cancelled: false
        }
    }
}
