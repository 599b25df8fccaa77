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
    /// The gateway ends the order for its age. Its driver, the dispatchers and those who follow it are told; the other drivers
    /// are not: nobody acts on an order that was open for weeks, and each event for all drivers is written once per device.
    case aged(driver: String?, reason: String?)
    /// The string is the driver's id.
    case driverRemoved(String, reason: String?)
    /// A driver accepted the order, which had no driver.
    case claimed(by: String, name: String?)
    /// The assigned driver accepted the order.
    case accepted(by: String, name: String?)
    /// The driver's arrival was taken back, by the driver or by an admin.
    case arrivalCorrected(by: String, name: String?, isByAdmin: Bool, reason: String?)
    /// The order's driver reached a step.
    case progressed(to: JobStatus, by: String, name: String?)
    /// The customer is told of a moment of the trip.
    case told(TripNews)
    /// From now on the driver can be followed.
    case trackingStarted(by: String, name: String?)
    /// The driver can no longer be followed, although the booking is not cancelled.
    case trackingStopped(TrackingEnd)

    /// Why a driver can no longer be followed.
    enum TrackingEnd {
        case completed, driverChanged
    }
}

extension OrderTransition {
    static func samples(driver: String, name: String?) -> [OrderTransition] {
        [
            .assigned(to: driver, name: name, from: driver), .unassigned(from: driver, reason: nil),
            .cancelled(driver: driver, reason: nil), .aged(driver: driver, reason: nil), .driverRemoved(driver, reason: nil),
            .claimed(by: driver, name: name),
            .arrivalCorrected(by: driver, name: name, isByAdmin: true, reason: nil),
            .progressed(to: .inTransit, by: driver, name: name), .trackingStarted(by: driver, name: name),
            .trackingStopped(.completed), .trackingStopped(.driverChanged),
        ] + news(driver, name).map(OrderTransition.told)
    }

    private static func news(_ driver: String, _ name: String?) -> [TripNews] {
        [TripMoment.enRoute, .nearby, .started, .destinationNear].map { .withETA($0, driver, name, .max) } + [
            .driverAssigned(driver, name, .largest(id: driver)), TripNews(moment: .arrival, driver: driver, driverName: name),
            .arrivalCorrected(driver, name, .max, reason: nil),
            .waiting(driver, name, since: 0, now: .max), .completed(driver, name, at: 0),
        ]
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
            let news = EventDraft(
                .drivers, "job-cancelled",
                ids + ["reason": .text(reason), "message": "This job has been cancelled and is no longer available"])
            return cancelled(driver, reason, ids) + [news] + cancelledForOthers(driver, reason, order)

        case .aged(let driver, let reason):
            return cancelled(driver, reason, ids) + cancelledForOthers(driver, reason, order)

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

        case .arrivalCorrected(let driver, let name, let isByAdmin, let reason):
            return corrected(driver, name, isByAdmin, reason, order, now)

        case .progressed(let step, let driver, let name):
            return reported("job-progress", step, driver, name, order, now)

        case .told(let news): return [news.event(of: order, at: milliseconds)]

        case .trackingStarted(let driver, let name):
            let fields = order.tripFields(driver: driver, name: name, at: milliseconds)
            return [EventDraft(.tracking(order.reference), "tracking-started", fields)]

        case .trackingStopped(.completed):
            return [trackingStopped("completed", "Tracking stopped: the trip is complete", order)]

        case .trackingStopped(.driverChanged):
            return [trackingStopped("driver_changed", "Tracking stopped: your driver has changed", order)]
        }
    }

    private func trackingStopped(_ reason: String, _ message: String, _ order: Order) -> EventDraft {
        EventDraft(.tracking(order.reference), "tracking-stopped", ["reason": .text(reason), "message": .text(message)])
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

    /// The events for those who follow the booking, and for the dispatchers.
    private func cancelledForOthers(_ driver: String?, _ reason: String?, _ order: Order) -> [EventDraft] {
        [
            trackingStopped("booking_cancelled", "Tracking stopped due to booking cancellation", order),
            EventDraft(.admin, "order-cancelled", order.ids + ["driverId": .text(driver), "reason": .text(reason)]),
        ]
    }

    /// The dispatchers know it from each other; the driver, who may have pressed the button, from the dispatcher only.
    private func corrected(
        _ driver: String, _ name: String?, _ isByAdmin: Bool, _ reason: String?, _ order: Order, _ now: EventFields.Value
    ) -> [EventDraft] {
        let step = EventFields.Value.text(JobStatus.enRoute.rawValue)
        let news = EventDraft(
            .driver(driver), "job-corrected",
            order.ids + ["step": step, "reason": .text(reason), "message": "Dispatch has taken back your arrival"])
        return (isByAdmin ? [news] : []) + [
            EventDraft(
                .admin, "job-corrected",
                order.ids + ["driverId": .text(driver), "driverName": .text(name)]
                    + ["from": .text(JobStatus.arrived.rawValue), "step": step, "by": isByAdmin ? "admin" : "driver"]
                    + ["reason": .text(reason), "timestamp": now])
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
