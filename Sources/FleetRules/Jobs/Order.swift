import JSON

/// What is said of one field: nothing, that it is to be cleared (JSON's null), or a new value.
package enum Change<Value: Equatable & Sendable>: Equatable, Sendable {
    case keep
    case clear
    case set(Value)

    /// Makes the change.
    package func applied(to value: inout Value?) {
        switch self {
        case .keep: break
        case .clear: value = nil
        case .set(let new): value = new
        }
    }
}

/// An order as the gateway knows it: what it was told, and who drives it.
package struct Order: Equatable, Sendable {
    package let code: String
    package var status = JobStatus.available
    package var driverID: String?
    /// As the last assignment said.
    package var driverName: String?
    /// 1 once stored, and one more with every change.
    package var version = 0
    /// Nil where nobody said: the code stands in for it.
    package var bookingID: String?
    /// Nil where nobody said: the code stands in for it.
    package var bookingReference: String?
    package var customerID: String?
    package var customerName: String?
    package var pickupAddress: String?
    package var dropoffAddress: String?
    /// ISO 8601, as sent.
    package var scheduledAt: String?
    package var totalGBP: JSONNumber?

    package init(code: String) { self.code = code }

    /// The reference in the names of its channels, `tracking-…` and `booking-…`.
    package var reference: String { bookingReference ?? code }
}

/// What a request says of an order's fields.
package struct OrderChanges: Equatable, Sendable {
    package var bookingID = Change<String>.keep
    package var bookingReference = Change<String>.keep
    package var customerID = Change<String>.keep
    package var customerName = Change<String>.keep
    package var pickupAddress = Change<String>.keep
    package var dropoffAddress = Change<String>.keep
    package var scheduledAt = Change<String>.keep
    package var totalGBP = Change<JSONNumber>.keep

    package init() {}

    /// Makes the changes.
    package func apply(to order: inout Order) {
        bookingID.applied(to: &order.bookingID)
        bookingReference.applied(to: &order.bookingReference)
        customerID.applied(to: &order.customerID)
        customerName.applied(to: &order.customerName)
        pickupAddress.applied(to: &order.pickupAddress)
        dropoffAddress.applied(to: &order.dropoffAddress)
        scheduledAt.applied(to: &order.scheduledAt)
        totalGBP.applied(to: &order.totalGBP)
    }
}
