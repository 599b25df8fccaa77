import Observability
import Threads

/// What the fleet's actions came to: by kind and outcome, by event. Written by the store's thread and the loops, read by anybody.
final class FleetCounters: Sendable {
    private struct Counts {
        var actions: [Action: Int] = [:]
        var notifications: [String: Int] = [:]
        var telemetry: [String: Int] = [:]
        var refusedRequests: [Int: Int] = [:]
        var failedTransitions = 0
    }

    private struct Action: Hashable {
        let name: String
        let outcome: String
    }

    private let counts = Lock(Counts())

    func countAction(_ name: String, outcome: String) {
        counts.withLock { $0.actions[Action(name: name, outcome: outcome), default: 0] += 1 }
    }

    func countNotifications(_ events: [String]) {
        counts.withLock { counts in for event in events { counts.notifications[event, default: 0] += 1 } }
    }

    func countTelemetry(_ kinds: [String]) {
        counts.withLock { counts in for kind in kinds { counts.telemetry[kind, default: 0] += 1 } }
    }

    /// Progress that the state machine did not allow.
    func countFailedTransition() { counts.withLock { $0.failedTransitions += 1 } }

    /// A request that was refused, by whomever: 401, 403, 400…
    func countRefusedRequest(_ status: Int) { counts.withLock { $0.refusedRequests[status, default: 0] += 1 } }

    func families(prefix: String) -> [MetricFamily] {
        let counts = counts.withLock { $0 }
        return [
            MetricFamily(
                "\(prefix)_fleet_actions_total", .counter, help: "What was asked of the fleet's store, by outcome.",
                samples: counts.actions.sorted { ($0.key.name, $0.key.outcome) < ($1.key.name, $1.key.outcome) }
                    .map { ([("action", $0.key.name), ("outcome", $0.key.outcome)], String($0.value)) }),
            MetricFamily(
                "\(prefix)_notifications_total", .counter, help: "Notifications, by event and how far they have come.",
                samples: counts.notifications.sorted { $0.key < $1.key }
                    .map { ([("event", $0.key), ("state", "created")], String($0.value)) }),
            MetricFamily(
                "\(prefix)_telemetry_total", .counter, help: "What phones reported of notifications.",
                samples: counts.telemetry.sorted { $0.key < $1.key }.map { ([("event", $0.key)], String($0.value)) }),
            MetricFamily(
                "\(prefix)_failed_transitions_total", .counter, help: "Progress of jobs that their state did not allow.",
                value: counts.failedTransitions),
            MetricFamily(
                "\(prefix)_fleet_refused_total", .counter,
                help: "Requests to the fleet's API that were refused or failed, by status.",
                samples: counts.refusedRequests.sorted { $0.key < $1.key }.map {
                    ([("status", String($0.key))], String($0.value))
                }),
        ]
    }

    /// The same for people, as the members of an object.
    func report() -> [(name: String, counts: [(name: String, count: Int)])] {
        let counts = counts.withLock { $0 }
        return [
            ("actions", counts.actions.map { ("\($0.key.name) \($0.key.outcome)", $0.value) }.sorted { $0.0 < $1.0 }),
            ("events", counts.notifications.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }),
            ("telemetry", counts.telemetry.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }),
            ("refusals", counts.refusedRequests.sorted { $0.key < $1.key }.map { (String($0.key), $0.value) }),
            ("transitions", [("failed", counts.failedTransitions)]),
        ]
    }
}
