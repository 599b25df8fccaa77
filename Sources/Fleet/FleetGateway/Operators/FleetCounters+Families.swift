import Fleet
import Observability

/// The counts as families of `/metrics`, and as members of `GET /api/ops/stats`.
extension FleetCounters {
    func families(prefix: String) -> [MetricFamily] {
        let counts = counts.withLock { $0 }
        return [
            MetricFamily(
                "\(prefix)_fleet_actions_total", .counter, help: "Fleet actions, by action and outcome.",
                samples: counts.actions.sorted { ($0.key.name, $0.key.outcome) < ($1.key.name, $1.key.outcome) }
                    .map { ([("action", $0.key.name), ("outcome", $0.key.outcome)], String($0.value)) }),
            MetricFamily(
                "\(prefix)_notifications_total", .counter,
                help: "Notifications, by event and state; each state once per recipient.",
                samples: counts.notifications.arrivals
                    .sorted { ($0.key.event, $0.key.state.rawValue) < ($1.key.event, $1.key.state.rawValue) }
                    .map { ([("event", $0.key.event), ("state", $0.key.state.rawValue)], String($0.value)) }),
            MetricFamily(
                "\(prefix)_notification_confirm_seconds",
                help: "From the creation of a notification to a recipient's first confirmation.",
                histograms: [([], counts.confirmations)]),
            MetricFamily(
                "\(prefix)_unconfirmed", .gauge,
                help: "Notifications of the last hour, not expired, that nobody has confirmed within delivery.confirm_seconds.",
                value: counts.unconfirmed),
            MetricFamily(
                "\(prefix)_telemetry_total", .counter, help: "Steps that devices reported for the first time, by event and type.",
                samples: counts.notifications.steps
                    .sorted { ($0.key.kind.rawValue, $0.key.type) < ($1.key.kind.rawValue, $1.key.type) }
                    .map { ([("event", $0.key.kind.rawValue), ("type", $0.key.type)], String($0.value)) }),
            MetricFamily(
                "\(prefix)_telemetry_repeated_total", .counter, help: "Steps that devices reported again.",
                value: counts.notifications.repeatedSteps),
            MetricFamily(
                "\(prefix)_telemetry_by_entity_total", .counter,
                help: "Steps under ids of no notification, matched by the order, booking or route that they name.",
                value: counts.notifications.stepsByEntity),
            MetricFamily(
                "\(prefix)_telemetry_dropped_total", .counter,
                help: "Steps not stored: the device reported too many of unknown notifications.",
                value: counts.notifications.droppedSteps),
            MetricFamily(
                "\(prefix)_transitions_total", .counter,
                help: "Reported steps of jobs, by the job's status before, the step, and whether it was taken.",
                samples: counts.transitions
                    .sorted {
                        ($0.key.from, $0.key.to, $0.key.outcome.rawValue) < ($1.key.from, $1.key.to, $1.key.outcome.rawValue)
                    }
                    .map {
                        (
                            [("from", $0.key.from), ("to", $0.key.to), ("outcome", $0.key.outcome.rawValue)],
                            String($0.value)
                        )
                    }),
            MetricFamily(
                "\(prefix)_fleet_events_total", .counter,
                help: "Events of fleet channels, by whether anybody was subscribed when they were published.",
                samples: events.flatMap { name, audience in
                    [
                        ([("event", name), ("audience", "subscribed")], String(audience.subscribed)),
                        ([("event", name), ("audience", "none")], String(audience.none)),
                    ]
                }),
        ]
    }

    /// The families about how people react to notifications.
    func reactionFamilies(prefix: String) -> [MetricFamily] {
        let pushEffects = counts.withLock { $0.notifications.pushEffects }
        let offers = offerFigures
        func pushes(_ kind: NotificationCounts.PushEffect.Kind) -> [(labels: [(name: String, value: String)], value: String)] {
            pushEffects.filter { $0.key.kind == kind }
                .sorted { ($0.key.provider.rawValue, $0.key.type) < ($1.key.provider.rawValue, $1.key.type) }
                .map { ([("provider", $0.key.provider.rawValue), ("type", $0.key.type)], String($0.value)) }
        }
        return [
            MetricFamily(
                "\(prefix)_push_delivered_total", .counter,
                help: "Pushed notifications that the person's app has received or confirmed.", samples: pushes(.delivered)),
            MetricFamily(
                "\(prefix)_push_opened_total", .counter, help: "Pushed notifications that the person has viewed or accepted.",
                samples: pushes(.opened)),
            MetricFamily(
                "\(prefix)_notification_to_view_seconds", help: "From a notification's creation until a person has viewed it.",
                histograms: [([], offers.creationToView)]),
            MetricFamily(
                "\(prefix)_view_to_accept_seconds",
                help: "From the view of an offered job or route until the driver has accepted it.",
                histograms: [([], offers.viewToAccept)]),
            MetricFamily(
                "\(prefix)_push_to_accept_seconds",
                help:
                    "From the first accepted push of an offered job or route, or its creation, until the driver has accepted it.",
                histograms: [([], offers.pushToAccept)]),
            MetricFamily(
                "\(prefix)_accept_within_total", .counter,
                help: "Offers that were viewed or accepted on the phone, by when the driver's accept came after that.",
                samples:
                    offers.outcomes
                    .sorted { ($0.key.within.rawValue, $0.key.type) < ($1.key.within.rawValue, $1.key.type) }
                    .map { ([("within", $0.key.within.rawValue), ("type", $0.key.type)], String($0.value)) }),
        ]
    }

    /// The families about batches of orders.
    func batchFamilies(prefix: String) -> [MetricFamily] {
        let counts = counts.withLock { $0 }
        return [
            MetricFamily(
                "\(prefix)_batch_actions_total", .counter, help: "Actions on batches of orders, by action and outcome.",
                samples: counts.batchActions.sorted { ($0.key.name, $0.key.outcome) < ($1.key.name, $1.key.outcome) }
                    .map { ([("action", $0.key.name), ("outcome", $0.key.outcome)], String($0.value)) }),
            MetricFamily(
                "\(prefix)_deliveries_total", .counter, help: "Orders of batches that were delivered or failed.",
                samples: counts.reports
                    .map { ([("status", $0.key.status.rawValue), ("reason", $0.key.reason?.rawValue ?? "")], $0.value) }
                    .sorted { ($0.0[0].1, $0.0[1].1) < ($1.0[0].1, $1.0[1].1) }.map { ($0.0, String($0.1)) }),
            MetricFamily(
                "\(prefix)_batch_accept_races_total", .counter,
                help: "Drivers who were too late for a batch that another driver had accepted.", value: counts.lostRaces),
        ]
    }

    /// The families about trips.
    /// - Parameter followed: the number of orders that are followed.
    func tripFamilies(prefix: String, followed: Int) -> [MetricFamily] {
        let counts = counts.withLock { $0 }
        let positions = counts.positions
        let locations = [
            ("accepted", positions.accepted),
            ("ignored", positions.ignored - positions.copies - positions.jumps - positions.invalid),
            ("copy", positions.copies), ("jump", positions.jumps), ("invalid", positions.invalid),
            ("limited", counts.limitedLocations),
        ]
        let corrections = [("admin", counts.correctionsByAdmins), ("driver", counts.correctionsByDrivers)]
        return [
            MetricFamily(
                "\(prefix)_locations_total", .counter,
                help: "Positions of drivers, by outcome; limited: requests that came too early.",
                samples: locations.map { ([("outcome", $0.0)], String($0.1)) }),
            MetricFamily(
                "\(prefix)_locations_without_offset_total", .counter,
                help: "Positions and telemetry events whose time had no offset: they count as of now.",
                value: counts.withoutOffset),
            MetricFamily("\(prefix)_followed_jobs", .gauge, help: "Jobs whose drivers can be followed.", value: followed),
            MetricFamily(
                "\(prefix)_arrivals_total", .counter, help: "Arrivals at the pickup, by what showed them.",
                samples: FleetCounters.ArrivalSource.allCases.map {
                    ([("by", $0.rawValue)], String(counts.arrivals[$0] ?? 0))
                }),
            MetricFamily(
                "\(prefix)_arrivals_corrected_total", .counter, help: "Arrivals that were taken back, by whom.",
                samples: corrections.map { ([("by", $0.0)], String($0.1)) }),
            MetricFamily(
                "\(prefix)_trip_moments_total", .counter, help: "Moments of trips of which customers were told, by type.",
                samples: TripMoment.allCases.map { ([("type", $0.rawValue)], String(counts.moments[$0] ?? 0)) }),
            MetricFamily(
                "\(prefix)_arrival_to_push_seconds", help: "From the driver's arrival to the first accepted push.",
                histograms: [([], counts.arrivalToPush)]),
            MetricFamily(
                "\(prefix)_arrival_to_received_seconds", help: "From the driver's arrival until the phone has received it.",
                histograms: [([], counts.arrivalToReceived)]),
        ]
    }

    /// The same counts for `GET /api/ops/stats`. Each group is a JSON object, and each count a member.
    func report() -> [(name: String, counts: [(name: String, count: Int)])] {
        let counts = counts.withLock { $0 }
        return [
            ("actions", counts.actions.map { ("\($0.key.name) \($0.key.outcome)", $0.value) }.sorted { $0.0 < $1.0 }),
            (
                "events",
                counts.notifications.arrivals.filter { $0.key.state == .created }.map { ($0.key.event, $0.value) }
                    .sorted { $0.0 < $1.0 }
            ),
            (
                "telemetry",
                Dictionary(counts.notifications.steps.map { ($0.key.kind.rawValue, $0.value) }, uniquingKeysWith: +)
                    .map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
            ),
            (
                "transitions",
                [("failed", counts.transitions.reduce(0) { $0 + ($1.key.outcome == .invalid ? $1.value : 0) })]
            ),
        ]
    }
}
