import Primitives

/// A change of an order that causes events, with the values that the events contain besides the order's fields.
/// The strings in `to`, `from`, `by` and `driver` are drivers' ids; `name` is the name of the driver in `to` or `by`,
/// nil if it is unknown.
enum OrderTransition: JobTransition {
    /// `from` is nil if the order had no driver.
    case assigned(to: String, name: String?, from: String?)
    case unassigned(from: String, reason: String?)
    /// `driver` is nil if there is no driver to notify.
    case cancelled(driver: String?, reason: String?)
    /// The string is the driver's id.
    case driverRemoved(String, reason: String?)
    /// A driver accepted the order, which had no driver.
    case claimed(by: String, name: String?)
    /// The assigned driver accepted the order.
    case accepted(by: String, name: String?)
    /// The order's driver reported a step.
    case progressed(to: JobStatus, by: String, name: String?)
}

extension OrderTransition {
    static func samples(driver: String, name: String?) -> [OrderTransition] {
        [
            .assigned(to: driver, name: name, from: driver), .unassigned(from: driver, reason: nil),
            .cancelled(driver: driver, reason: nil), .driverRemoved(driver, reason: nil), .claimed(by: driver, name: name),
        ] + [JobStatus.arrived, .inTransit, .completed].map { .progressed(to: $0, by: driver, name: name) }
    }

    /// The events that the transition publishes. Apps depend on the event names, the fields and their order.
    func events(of order: Order, at milliseconds: Int64) -> [EventDraft] {
        let ids = order.ids
        let now = EventFields.Value.text(Timestamp.iso8601(milliseconds: milliseconds))
        switch self {
        case .assigned(let driver, let name, let former):
            return reassigned(former, ids) + [
                EventDraft(
                    .driver(driver), "job-assigned",
                    ids + order.customerAndAddresses + ["scheduledAt": .text(order.scheduledAt)]
                        + ["totalGBP": .number(order.totalGBP), "message": "New job assigned to you"])
            ] + assigned(driver, name, ids)

        case .unassigned(let driver, let reason):
            return [
                EventDraft(
                    .driver(driver), "order-removed",
                    ["orderRef": .text(order.reference), "message": "Order has been removed from your schedule by admin"]
                        + ["reason": .text(reason)]),
                EventDraft(
                    .driver(driver), "schedule-updated",
                    ["type": "order_removed", "orderRef": .text(order.reference), "timestamp": now]),
                EventDraft(.drivers, "job-available-again", ids + ["message": "This job is now available"]),
                EventDraft(.admin, "order-unassigned", ids + ["driverId": .text(driver), "reason": .text(reason)]),
            ]

        case .cancelled(let driver, let reason):
            return cancelled(driver, reason, ids) + [
                EventDraft(
                    .drivers, "job-cancelled",
                    ids + ["reason": .text(reason), "message": "This job has been cancelled and is no longer available"]),
                EventDraft(
                    .tracking(order.reference), "tracking-stopped",
                    ["reason": "booking_cancelled", "message": "Tracking stopped due to booking cancellation"]),
                EventDraft(.admin, "order-cancelled", ids + ["driverId": .text(driver), "reason": .text(reason)]),
            ]

        case .driverRemoved(let driver, let reason):
            return [
                EventDraft(
                    .driver(driver), "job-removed",
                    ids + ["reason": .text(reason), "removedAt": now, "message": "You have been removed from this job"]),
                EventDraft(
                    .drivers, "job-available-again",
                    ids + order.customerAndAddresses + ["availableAt": now, "message": "This job is now available again"]),
                EventDraft(
                    .booking(order.reference), "driver-removed",
                    ["reason": .text(reason), "removedAt": now, "message": "Your driver has been changed"]),
                EventDraft(.admin, "driver-removed", ids + ["driverId": .text(driver), "reason": .text(reason)]),
            ]

        case .claimed(let driver, let name):
            return assigned(driver, name, ids) + Self.accepted(by: driver, name: name).events(of: order, at: milliseconds)

        case .accepted(let driver, let name):
            return reported("job-accepted", .accepted, driver, name, order, now)

        case .progressed(let step, let driver, let name):
            // The customer sees the name that the dispatcher gave the order's driver, not that of the driver's account.
            let arriving = order.assignment.driver?.name ?? name
            let arrival = EventDraft(
                .booking(order.reference), "driver-arrival",
                ["reference": .text(order.reference), "driver_id": .text(driver), "driverName": .text(arriving)]
                    + ["timestamp": .text(Timestamp.wholeSeconds(milliseconds: milliseconds))])
            return reported("job-progress", step, driver, name, order, now) + (step == .arrived ? [arrival] : [])
        }
    }

    /// The event for the former driver; none if the order had no driver.
    private func reassigned(_ former: String?, _ ids: EventFields) -> [EventDraft] {
        guard let former else { return [] }
        return [
            EventDraft(
                .driver(former), "job-removed",
                ids + ["reason": "Reassigned to another driver", "message": "This job has been reassigned"])
        ]
    }

    /// The same event under two names: some dashboards bind to `job-assigned`, others to `order-assigned`.
    private func assigned(_ driver: String, _ name: String?, _ ids: EventFields) -> [EventDraft] {
        let fields = ids + ["driverId": .text(driver), "driverName": .text(name)]
        return [EventDraft(.admin, "job-assigned", fields), EventDraft(.admin, "order-assigned", fields)]
    }

    /// The events for the driver; none if there is no driver to notify.
    private func cancelled(_ driver: String?, _ reason: String?, _ ids: EventFields) -> [EventDraft] {
        guard let driver else { return [] }
        return [
            EventDraft(
                .driver(driver), "job-cancelled",
                ids + ["reason": .text(reason), "message": "Your assigned job has been cancelled"]),
            EventDraft(
                .driver(driver), "job-removed-from-list",
                ids + ["message": "This job has been removed from your active jobs"]),
        ]
    }

    /// A driver's report: one event for the dispatchers, and a copy without the driver's id for the customer.
    private func reported(
        _ event: String, _ step: JobStatus, _ driver: String, _ name: String?, _ order: Order, _ now: EventFields.Value
    ) -> [EventDraft] {
        let rest: EventFields = ["driverName": .text(name), "step": .text(step.rawValue), "timestamp": now]
        return [
            EventDraft(.admin, event, order.ids + ["driverId": .text(driver)] + rest),
            EventDraft(.booking(order.reference), event, order.ids + rest),
        ]
    }
}

extension Order {
    fileprivate var ids: EventFields { ["bookingId": .text(bookingID ?? code), "bookingReference": .text(reference)] }

    fileprivate var customerAndAddresses: EventFields {
        [
            "customerName": .text(customerName), "pickupAddress": .text(pickupAddress),
            "dropoffAddress": .text(dropoffAddress),
        ]
    }
}
