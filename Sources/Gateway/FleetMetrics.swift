import Batches
import FleetRules
import Observability
import Store
import Threads

/// Counts fleet actions, notifications, telemetry and failed requests. The store's threads and the loops write, any
/// thread reads.
final class FleetCounters: Sendable {
    private struct Counts {
        var actions: [Action: Int] = [:]
        var deliveries = DeliveryCounts()
        var failedRequests: [Int: Int] = [:]
        var failedTransitions = 0
        var confirmations = Histogram(
            bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600, 86_400])
        var unconfirmed = 0
        var positions = LocationReceipt()
        var limitedLocations = 0
        var arrivalsByPosition = 0
        var arrivalsByDriver = 0
        var moments: [TripMoment: Int] = [:]
        var batchActions: [Action: Int] = [:]
        var reports: [Report: Int] = [:]
        var lostRaces = 0
        var arrivalToPush = Histogram(bounds: arrivalBounds)
        var arrivalToReceived = Histogram(bounds: arrivalBounds)

        private static let arrivalBounds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
    }

    private struct Action: Hashable {
        let name: String
        let outcome: String
    }

    /// What a driver reported of an order at its end.
    private struct Report: Hashable {
        let status: ReportedStatus
        let reason: FailureReason?
    }

    private let counts = Lock(Counts())

    func countAction(_ name: String, outcome: String) {
        counts.withLock { $0.actions[Action(name: name, outcome: outcome), default: 0] += 1 }
    }

    /// Counts a command that concerns a batch of orders.
    func countBatchAction(_ name: String, outcome: String) {
        counts.withLock { $0.batchActions[Action(name: name, outcome: outcome), default: 0] += 1 }
    }

    /// Counts an order that was delivered or failed.
    func count(_ report: DeliveryReport) {
        let reason: FailureReason?
        switch report.outcome {
        case .enRoute, .arrived: return
        case .delivered: reason = nil
        case .failed(let failure): reason = failure
        }
        counts.withLock { $0.reports[Report(status: report.status, reason: reason), default: 0] += 1 }
    }

    /// Counts a driver who was too late for a batch.
    func countLostRace() { counts.withLock { $0.lostRaces += 1 } }

    /// Counts what happened to notifications in a transaction.
    func count(_ deliveries: DeliveryCounts) {
        guard !deliveries.isEmpty else { return }
        counts.withLock { counts in
            for seconds in deliveries.arrivalPushSeconds { counts.arrivalToPush.observe(seconds) }
            for seconds in deliveries.arrivalReceivedSeconds { counts.arrivalToReceived.observe(seconds) }
            var rest = deliveries
            (rest.arrivalPushSeconds, rest.arrivalReceivedSeconds) = ([], [])
            counts.deliveries.add(rest)
        }
    }

    /// Counts the times from the creation of notifications to their first confirmations.
    func count(_ confirmations: [Confirmation]) {
        guard !confirmations.isEmpty else { return }
        counts.withLock { counts in
            for confirmation in confirmations { counts.confirmations.observe(confirmation.seconds) }
        }
    }

    /// Counts a driver's positions.
    func count(_ receipt: LocationReceipt) {
        counts.withLock {
            $0.positions.accepted += receipt.accepted
            $0.positions.ignored += receipt.ignored
        }
    }

    /// Counts a request with positions that came too early.
    func countLimitedLocation() { counts.withLock { $0.limitedLocations += 1 } }

    /// Counts the arrival and the moments of trips in a commit.
    func countTrip(_ result: CommandResult) {
        let moments = result.notifications.compactMap { notification in
            // Admins can announce an arrival, but on other channels.
            notification.channel.utf8.starts(with: "booking-".utf8) ? TripMoment(event: notification.event) : nil
        }
        guard !moments.isEmpty else { return }
        counts.withLock { counts in
            for moment in moments { counts.moments[moment, default: 0] += 1 }
            guard moments.contains(.arrival) else { return }
            if result.order?.trip.isArrivedByPosition == true {
                counts.arrivalsByPosition += 1
            } else {
                counts.arrivalsByDriver += 1
            }
        }
    }

    /// Records the present number of unconfirmed notifications of the last hour.
    func record(unconfirmed count: Int) { counts.withLock { $0.unconfirmed = count } }

    /// Counts a progress report that the job's status does not allow.
    func countFailedTransition() { counts.withLock { $0.failedTransitions += 1 } }

    /// Counts a request answered with a 4xx or 5xx status.
    func countFailedRequest(_ status: Int) { counts.withLock { $0.failedRequests[status, default: 0] += 1 } }

    /// The number of steps that were not stored, because their reporter has reported too many of unknown notifications.
    var droppedSteps: Int { counts.withLock { $0.deliveries.droppedSteps } }

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
                samples: counts.deliveries.arrivals
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
                samples: counts.deliveries.steps
                    .sorted { ($0.key.kind.rawValue, $0.key.type) < ($1.key.kind.rawValue, $1.key.type) }
                    .map { ([("event", $0.key.kind.rawValue), ("type", $0.key.type)], String($0.value)) }),
            MetricFamily(
                "\(prefix)_telemetry_repeated_total", .counter, help: "Steps that devices reported again.",
                value: counts.deliveries.repeatedSteps),
            MetricFamily(
                "\(prefix)_telemetry_dropped_total", .counter,
                help: "Steps not stored: the device reported too many of unknown notifications.",
                value: counts.deliveries.droppedSteps),
            MetricFamily(
                "\(prefix)_failed_transitions_total", .counter, help: "Progress reports rejected because of the job's status.",
                value: counts.failedTransitions),
            MetricFamily(
                "\(prefix)_fleet_refused_total", .counter,
                help: "Fleet API requests answered with 4xx or 5xx, by status.",
                samples: counts.failedRequests.sorted { $0.key < $1.key }.map {
                    ([("status", String($0.key))], String($0.value))
                }),
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
        let locations = [
            ("accepted", counts.positions.accepted), ("ignored", counts.positions.ignored),
            ("limited", counts.limitedLocations),
        ]
        let arrivals = [("position", counts.arrivalsByPosition), ("driver", counts.arrivalsByDriver)]
        return [
            MetricFamily(
                "\(prefix)_locations_total", .counter,
                help: "Positions of drivers, by outcome; limited: requests that came too early.",
                samples: locations.map { ([("outcome", $0.0)], String($0.1)) }),
            MetricFamily("\(prefix)_followed_jobs", .gauge, help: "Jobs whose drivers can be followed.", value: followed),
            MetricFamily(
                "\(prefix)_arrivals_total", .counter, help: "Arrivals at the pickup, by what showed them.",
                samples: arrivals.map { ([("by", $0.0)], String($0.1)) }),
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
                counts.deliveries.arrivals.filter { $0.key.state == .created }.map { ($0.key.event, $0.value) }
                    .sorted { $0.0 < $1.0 }
            ),
            (
                "telemetry",
                Dictionary(counts.deliveries.steps.map { ($0.key.kind.rawValue, $0.value) }, uniquingKeysWith: +)
                    .map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
            ),
            ("refusals", counts.failedRequests.sorted { $0.key < $1.key }.map { (String($0.key), $0.value) }),
            ("transitions", [("failed", counts.failedTransitions)]),
        ]
    }
}
