import Primitives

/// A change of a route that causes events, with the values that the events contain besides the route's fields.
/// The strings in `to`, `from`, `by` and `driver` are drivers' ids; `name` is the name of the driver in `to` or `by`,
/// nil if it is unknown.
enum RouteTransition: JobTransition {
    /// `from` is nil if the route had no driver.
    case assigned(to: String, name: String?, from: String?, reason: String?)
    case unassigned(from: String, reason: String?)
    /// `driver` is nil if there is no driver to notify.
    case cancelled(driver: String?, reason: String?)
    /// The string is the drop's id. `driver` is nil if there is no driver to notify.
    case dropRemoved(String, driver: String?, reason: String?)
    /// A driver accepted the route, which had no driver.
    case claimed(by: String, name: String?)
    /// The assigned driver accepted the route.
    case accepted(by: String, name: String?)
}

extension RouteTransition {
    // `.accepted` publishes the same event as `.claimed`.
    static func samples(driver: String, name: String?) -> [RouteTransition] {
        [
            .assigned(to: driver, name: name, from: driver, reason: nil), .unassigned(from: driver, reason: nil),
            .cancelled(driver: driver, reason: nil), .dropRemoved(driver, driver: driver, reason: nil),
            .claimed(by: driver, name: name),
        ]
    }

    /// The events that the transition publishes. Apps depend on the order of the events, their names, and the names and
    /// the order of their fields.
    func events(of route: Route, at milliseconds: Int64) -> [EventDraft] {
        let ids: EventFields = ["routeId": .text(route.id), "routeNumber": .text(route.routeNumber)]
        let now = EventFields.Value.text(Timestamp.iso8601(milliseconds: milliseconds))
        switch self {
        case .assigned(let driver, let name, let former, let reason):
            return (former.map { [unassigned($0, route, ids)] } ?? []) + [
                EventDraft(
                    .driver(driver), "route-assigned",
                    ids + route.counts + ["message": "New route assigned to you"]),
                assigned(driver, name, reason, ids),
            ]

        case .unassigned(let driver, let reason):
            return [
                unassigned(driver, route, ids),
                EventDraft(.admin, "route-unassigned", ids + ["driverId": .text(driver), "reason": .text(reason)]),
            ]

        case .cancelled(let driver, let reason):
            let toDriver = driver.map {
                EventDraft(
                    .driver($0), "route-cancelled",
                    ids + ["message": "Route has been cancelled by admin", "reason": .text(reason)]
                        + ["bookingsCount": .number(route.bookingsCount), "cancelledAt": now])
            }
            return (toDriver.map { [$0] } ?? []) + [
                EventDraft(.admin, "route-cancelled", ids + ["driverId": .text(driver), "reason": .text(reason)])
            ]

        case .dropRemoved(let drop, let driver, let reason):
            let ids = ids + ["dropId": .text(drop)]
            return dropRemoved(driver, reason, route, ids, now) + [
                EventDraft(.admin, "drop-removed", ids + ["driverId": .text(driver), "reason": .text(reason)])
            ]

        case .claimed(let driver, let name):
            return [assigned(driver, name, nil, ids)] + Self.accepted(by: driver, name: name).events(of: route, at: milliseconds)

        case .accepted(let driver, let name):
            return [
                EventDraft(
                    .admin, "route-accepted",
                    ids + ["driverId": .text(driver), "driverName": .text(name)]
                        + ["step": .text(JobStatus.accepted.rawValue), "timestamp": now])
            ]
        }
    }

    private func assigned(_ driver: String, _ name: String?, _ reason: String?, _ ids: EventFields) -> EventDraft {
        EventDraft(
            .admin, "route-assigned",
            ids + ["driverId": .text(driver), "driverName": .text(name), "reason": .text(reason)])
    }

    private func unassigned(_ driver: String, _ route: Route, _ ids: EventFields) -> EventDraft {
        EventDraft(
            .driver(driver), "route-unassigned",
            ids + ["message": "Route unassigned by admin"] + route.counts
                + ["earningsAdjustment": .number(route.earningsAdjustment)])
    }

    /// The events for the driver; none if there is no driver to notify.
    private func dropRemoved(
        _ driver: String?, _ reason: String?, _ route: Route, _ ids: EventFields, _ now: EventFields.Value
    ) -> [EventDraft] {
        guard let driver else { return [] }
        return [
            EventDraft(
                .driver(driver), "drop-removed",
                ids + ["reason": .text(reason), "message": "A drop has been removed from your route"]),
            EventDraft(
                .driver(driver), "schedule-updated",
                ["type": "drop_removed", "routeId": .text(route.id), "timestamp": now]),
        ]
    }
}

extension Route {
    fileprivate var counts: EventFields { ["bookingsCount": .number(bookingsCount), "dropsCount": .number(dropsCount)] }
}
