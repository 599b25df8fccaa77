/// How far a driver is with one order. The raw value is the word that apps know.
package enum AssignmentStatus: String, CaseIterable, Sendable {
    /// The driver has accepted the batch.
    case assigned = "ASSIGNED"
    /// The driver's app has shown the batch.
    case acknowledged = "ACKNOWLEDGED"
    case pickedUp = "PICKED_UP"
    case enRoute = "EN_ROUTE"
    /// The driver is at the door.
    case arrived = "ARRIVED"
    case delivered = "DELIVERED"
    case failed = "FAILED"
    /// The order is back at the kitchen, after ``failed``.
    case returned = "RETURNED"
    case cancelled = "CANCELLED"

    /// Whether the driver has nothing more to do for the order.
    package var isOver: Bool {
        switch self {
        case .assigned, .acknowledged, .pickedUp, .enRoute, .arrived: false
        case .delivered, .failed, .returned, .cancelled: true
        }
    }

    /// Whether the driver may report `status` now. Steps may be skipped: apps offer "Mark as Delivered" at once.
    package func allows(_ status: ReportedStatus) -> Bool {
        switch self {
        case .pickedUp: true
        case .enRoute: status != .enRoute
        case .arrived: status == .delivered || status == .failed
        case .assigned, .acknowledged, .delivered, .failed, .returned, .cancelled: false
        }
    }
}

/// What a driver can report of an order.
package enum ReportedStatus: String, CaseIterable, Sendable {
    case enRoute = "EN_ROUTE"
    case arrived = "ARRIVED"
    case delivered = "DELIVERED"
    case failed = "FAILED"

    /// The status that the order's assignment has after the report.
    package var assignmentStatus: AssignmentStatus {
        switch self {
        case .enRoute: .enRoute
        case .arrived: .arrived
        case .delivered: .delivered
        case .failed: .failed
        }
    }
}
