import JSON

/// An order: its code, its assignment, and the fields that requests have set (nil: not set).
package struct Order: Equatable, Sendable {
    package let code: String
    package var assignment = Assignment()
    /// If nil, events and responses contain the code instead.
    package var bookingID: String?
    /// If nil, the code is used instead, see ``reference``.
    package var bookingReference: String?
    package var customerID: String?
    package var customerName: String?
    package var pickupAddress: String?
    package var dropoffAddress: String?
    /// In ISO 8601, as the request wrote it.
    package var scheduledAt: String?
    /// In pounds sterling, as the request wrote it.
    package var totalGBP: JSONNumber?
    /// Shown to apps, but not in the order's events, whose fields are fixed. The same applies to the drop-off.
    package var pickupCoordinates: Coordinates?
    package var dropoffCoordinates: Coordinates?
    package var trip = TripRecord()

    package init(code: String) { self.code = code }

    /// The reference in the names of the order's channels, `tracking-…` and `booking-…`.
    package var reference: String { bookingReference ?? code }
}

extension Order: Job {
    typealias Transition = OrderTransition

    static let noun = "Job"
    var label: String { "Order \(code)" }
    var auditSubject: AuditEntry.Subject { .order(code) }
    var pushPolicy: PushPolicy { .order(self) }
    var textBytes: Int {
        // The code twice: it stands for a missing booking id and for a missing reference.
        [
            code, code, bookingID, bookingReference, customerName, pickupAddress, dropoffAddress, scheduledAt, totalGBP?.text,
        ].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    }

    func place(in plan: inout DispatchPlan) { plan.order = self }

    func response(_ message: String, _ notificationIDs: [String]) -> CommandResponse {
        .order(message, self, notificationIDs: notificationIDs)
    }
}

/// A request's changes to an order's fields.
package struct OrderChanges: Equatable, Sendable {
    package var bookingID = Change<String>.keep
    package var bookingReference = Change<String>.keep
    package var customerID = Change<String>.keep
    package var customerName = Change<String>.keep
    package var pickupAddress = Change<String>.keep
    package var dropoffAddress = Change<String>.keep
    package var scheduledAt = Change<String>.keep
    package var totalGBP = Change<JSONNumber>.keep
    package var pickupCoordinates = Change<Coordinates>.keep
    package var dropoffCoordinates = Change<Coordinates>.keep

    package init() {}

    /// Sets and clears the fields that the request contains.
    package func apply(to order: inout Order) {
        bookingID.apply(to: &order.bookingID)
        bookingReference.apply(to: &order.bookingReference)
        customerID.apply(to: &order.customerID)
        customerName.apply(to: &order.customerName)
        pickupAddress.apply(to: &order.pickupAddress)
        dropoffAddress.apply(to: &order.dropoffAddress)
        scheduledAt.apply(to: &order.scheduledAt)
        totalGBP.apply(to: &order.totalGBP)
        pickupCoordinates.apply(to: &order.pickupCoordinates)
        dropoffCoordinates.apply(to: &order.dropoffCoordinates)
    }

    /// The names of the fields that the request sets or clears.
    var presentFields: [String] {
        [
            bookingID.isPresent ? "bookingId" : nil, bookingReference.isPresent ? "bookingReference" : nil,
            customerID.isPresent ? "customerId" : nil, customerName.isPresent ? "customerName" : nil,
            pickupAddress.isPresent ? "pickupAddress" : nil, dropoffAddress.isPresent ? "dropoffAddress" : nil,
            scheduledAt.isPresent ? "scheduledAt" : nil, totalGBP.isPresent ? "totalGBP" : nil,
        ].compactMap(\.self)
            + (pickupCoordinates.isPresent ? ["pickupLatitude", "pickupLongitude"] : [])
            + (dropoffCoordinates.isPresent ? ["dropoffLatitude", "dropoffLongitude"] : [])
    }
}
