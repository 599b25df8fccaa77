import Primitives

/// An order of a batch: its address, its items and the state of its delivery.
package struct BatchOrder: Equatable, Sendable {
    package let id: ObjectID
    package var orderNumber: String
    package var address = DeliveryAddress()
    package var items: [OrderItem] = []
    /// The code that the customer tells the driver at the door. Nil: the order has none.
    package var otp: DeliveryOTP?
    /// The order's place in the driver's tour, from 1.
    package var sequenceNumber: Int
    /// Whose order it is, for the erasure of personal data. Nil: not known.
    package var customerID: String?
    /// Nil before a driver accepts the batch, and for orders that were cancelled before.
    package var assignment: OrderAssignment?
    /// Nil: not cancelled.
    package var cancellation: OrderCancellation?

    package init(id: ObjectID, orderNumber: String, sequenceNumber: Int) {
        self.id = id
        self.orderNumber = orderNumber
        self.sequenceNumber = sequenceNumber
    }

    /// Whether the order is neither cancelled, nor delivered, nor failed.
    package var isOpen: Bool { cancellation == nil && assignment?.status.isOver != true }

    /// The word of `order.status`: `READY` until the pickup, then the assignment's status, or `CANCELLED`.
    package var statusWord: String {
        if cancellation != nil { return AssignmentStatus.cancelled.rawValue }
        guard let status = assignment?.status else { return Self.waitingWord }
        switch status {
        case .assigned, .acknowledged: return Self.waitingWord
        case .pickedUp, .enRoute, .arrived, .delivered, .failed, .returned, .cancelled: return status.rawValue
        }
    }

    /// The word until the pickup.
    private static let waitingWord = "READY"

    /// The address for the driver's screens: without the phone number once the order is over.
    package var addressForDriver: DeliveryAddress { isOpen ? address : address.withoutPhone }
}

/// The code that a customer tells the driver, four digits.
package enum DeliveryOTP: Equatable, Sendable {
    /// As sent. The store keeps only the other form.
    case digits(String)
    /// An HMAC of the digits, and the id of its key.
    case sealed(digest: [UInt8], keyID: String)
}

/// A driver's work on one order. Times are milliseconds since 1970; nil: not yet, or skipped.
package struct OrderAssignment: Equatable, Sendable {
    package let id: ObjectID
    package let assignedAt: Int64
    package var status = AssignmentStatus.assigned
    package var pickedUpAt: Int64?
    package var enRouteAt: Int64?
    package var arrivedAt: Int64?
    package var deliveredAt: Int64?
    package var failedAt: Int64?
    /// The account of the driver who made the last report, and wrote ``notes``. Nil: there was none.
    package var reportedBy: ObjectID?
    /// The proof with which the order was delivered.
    package var proof: CheckedProof?
    package var failureReason: FailureReason?
    /// The driver's notes in the report that delivered or failed the order.
    package var notes: String?

    package init(id: ObjectID, assignedAt: Int64) {
        self.id = id
        self.assignedAt = assignedAt
    }
}

/// The cancellation of an order: its time and its author.
package struct OrderCancellation: Equatable, Sendable {
    /// Who wanted it. The raw value is the `cancelledBy` of events.
    package enum Party: String, CaseIterable, Sendable {
        case customer
        case admin
    }

    /// Milliseconds since 1970.
    package let at: Int64
    package let by: Party
    package let reason: String?
    /// Whether the driver had already picked the batch up. Such a batch ends as ``BatchStatus/partialComplete``.
    package let isAfterPickup: Bool

    package init(at: Int64, by: Party, reason: String?, isAfterPickup: Bool) {
        self.at = at
        self.by = by
        self.reason = reason
        self.isAfterPickup = isAfterPickup
    }
}
