import Access
import Primitives

/// What the audit log knows of an order's arrival, for those who take it back.
package struct ArrivalHistory: Equatable, Sendable {
    /// When the gateway took the step `arrived`, in milliseconds since 1970. It may be later than the arrival. Nil: the
    /// entry is gone.
    package var receivedAt: Int64?
    /// How often the driver has taken back an arrival of this trip.
    package var undoCount: Int

    package init(receivedAt: Int64? = nil, undoCount: Int = 0) {
        self.receivedAt = receivedAt
        self.undoCount = undoCount
    }
}

/// An arrival that was none is taken back: the driver is on the way again.
extension DispatchPlanner {
    /// The most arrivals of a trip that its driver may take back. Each may tell the customer once more that the driver has
    /// arrived.
    private static let undoMax = 2

    /// Plans that an admin takes back the arrival at a pickup.
    /// - Parameter stored: nil if the store has no such order.
    /// - Throws: ``RuleError``. Checks in this order: 404, 409 (version), 409 (not arrived), 400 (size of the events).
    package mutating func correctArrival(
        _ code: String, of stored: Order?, reason: String?, _ context: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        guard let stored else { throw RuleError(.unknownOrder, code) }
        try context.checkVersion(of: stored)
        let status = stored.assignment.status
        guard status == .arrived, let driver = stored.assignment.driver else {
            throw RuleError(.notArrived, stored.label, status.rawValue)
        }
        return try planCorrection(of: stored, driver, reason: reason, isByAdmin: true, context) { order, notificationIDs in
            order.response("Order corrected", notificationIDs)
        }
    }

    /// Plans that the driver takes back the arrival.
    /// - Parameter stored: an order with this driver and the status `arrived`.
    mutating func undoArrival(
        of stored: Order, _ driver: Assignment.Driver, reason: String?, _ history: ArrivalHistory, _ context: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        try context.checkVersion(of: stored)
        // An arrival of unknown time counts as one of long ago.
        guard let receivedAt = history.receivedAt ?? stored.trip.arrivedAt,
            context.now - receivedAt < context.trips.undoTime
        else {
            throw RuleError(.oldArrival, "\(context.trips.undoMinutes)")
        }
        guard history.undoCount < Self.undoMax else { throw RuleError(.manyCorrections) }
        return try planCorrection(of: stored, driver, reason: reason, isByAdmin: false, context) { _, _ in
            .arrivalTakenBack(at: context.now)
        }
    }

    private mutating func planCorrection(
        of stored: Order, _ driver: Assignment.Driver, reason: String?, isByAdmin: Bool, _ context: CommandContext,
        response: (Order, [String]) -> CommandResponse
    ) throws(RuleError) -> DispatchPlan {
        var order = stored
        order.assignment.status = .enRoute
        (order.trip.arrivedAt, order.trip.isArrivedByPosition) = (nil, false)
        order.trip.waitingToldAt = nil
        (order.trip.correctedAt, order.trip.leftAt) = (context.now, nil)
        let eta = order.etaMinutes(context.track, now: context.now, context.trips)
        // The customer is told the ETA now, so "nearby" would say nothing new.
        if let eta, eta <= context.trips.nearbyMinutes, context.track.isNewestOnWay, order.trip.nearbyToldAt == nil {
            order.trip.nearbyToldAt = context.now
        }
        let (id, name) = (driver.id.text, order.tripDriverName(context.card, account: order.trip.driverName))
        let details: EventFields = [
            "reason": .text(reason), "arrivedAt": .text(stored.trip.arrivedAt.map { Timestamp.iso8601(milliseconds: $0) }),
        ]
        return try planChange(
            of: stored, to: order,
            by: [
                .told(.arrivalCorrected(id, name, eta, reason: reason)),
                .arrivalCorrected(by: id, name: name, isByAdmin: isByAdmin, reason: reason),
            ], presentFields: ["reason"], audit: ("correct", nil, details), context, response: response)
    }
}
