import Fleet
import Observability
import Testing

@testable import FleetGateway

@Suite struct FleetMetricsTests {
    private let counters = FleetCounters()

    @Test func countsByNameAndOutcome() {
        for (name, outcome) in [("b", "done"), ("a", "done"), ("a", "conflict"), ("a", "done")] {
            counters.countAction(name, outcome: outcome)
        }
        var deliveries = NotificationCounts()
        deliveries.add(.created, of: "job-assigned", count: 2)
        deliveries.add(.created, of: "order-assigned")
        deliveries.add(.pushed, of: "job-assigned")
        deliveries.addStep(.received, ofType: "new_job")
        (deliveries.repeatedSteps, deliveries.droppedSteps) = (3, 4)
        counters.count(deliveries)
        deliveries = NotificationCounts()
        deliveries.addStep(.received, ofType: "new_job")
        deliveries.addStep(.received, ofType: "DRIVER_APPROVED")
        counters.count(deliveries)
        for outcome in [FleetCounters.Transition.Outcome.invalid, .done, .done] {
            counters.transitions.add(to: .init(from: "accepted", to: "en_route", outcome: outcome))
        }
        for isHeard in [true, false, true] { counters.countEvent("job-assigned", isHeard: isHeard) }
        #expect(
            samples() == [
                #"p_fleet_actions_total{action="a",outcome="conflict"} 1"#,
                #"p_fleet_actions_total{action="a",outcome="done"} 2"#,
                #"p_fleet_actions_total{action="b",outcome="done"} 1"#,
                #"p_notifications_total{event="job-assigned",state="created"} 2"#,
                #"p_notifications_total{event="job-assigned",state="pushed"} 1"#,
                #"p_notifications_total{event="order-assigned",state="created"} 1"#,
                #"p_telemetry_total{event="received",type="DRIVER_APPROVED"} 1"#,
                #"p_telemetry_total{event="received",type="new_job"} 2"#,
                "p_telemetry_repeated_total 3", "p_telemetry_by_entity_total 0", "p_telemetry_dropped_total 4",
                #"p_transitions_total{from="accepted",to="en_route",outcome="done"} 2"#,
                #"p_transitions_total{from="accepted",to="en_route",outcome="invalid"} 1"#,
                #"p_fleet_events_total{event="job-assigned",audience="subscribed"} 2"#,
                #"p_fleet_events_total{event="job-assigned",audience="none"} 1"#,
            ])
        #expect(
            report() == [
                "actions: a conflict 1, a done 2, b done 1", "events: job-assigned 2, order-assigned 1", "telemetry: received 3",
                "transitions: failed 1",
            ])
    }

    @Test func startsAtZero() {
        let zeros = ["p_telemetry_repeated_total 0", "p_telemetry_by_entity_total 0", "p_telemetry_dropped_total 0"]
        #expect(samples() == zeros)
        #expect(report() == ["actions: ", "events: ", "telemetry: ", "transitions: failed 0"])
        counters.count(NotificationCounts())
        #expect(samples() == zeros)
    }

    @Test func countsFromSeveralThreads() async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { for _ in 0..<500 { self.counters.countAction("a", outcome: "done") } } }
        }
        #expect(samples().first == #"p_fleet_actions_total{action="a",outcome="done"} 4000"#)
    }

    @Test func measuresConfirmations() {
        func confirmation(after milliseconds: Int64) -> Fleet.Confirmation {
            Fleet.Confirmation(
                notificationID: "N", event: "e", channel: "driver-42", owner: "driver:42", device: "", createdAt: 1_000,
                confirmedAt: 1_000 + milliseconds)
        }
        counters.count([confirmation(after: 5), confirmation(after: 6), confirmation(after: -7)])
        counters.record(unconfirmed: 3)
        let found = lines
        for line in [
            #"p_notification_confirm_seconds_bucket{le="0.005"} 2"#, #"p_notification_confirm_seconds_bucket{le="0.01"} 3"#,
            "p_notification_confirm_seconds_count 3", "p_unconfirmed 3",
        ] { #expect(found.contains(line), "\(line)") }
    }

    private var lines: [String] {
        MetricsRegistry(prefix: "p", [{ counters.families }]).text.split(separator: "\n").map(String.init)
    }

    private func samples() -> [String] {
        let families = ["p_fleet_", "p_notifications_", "p_telemetry_", "p_transitions_"]
        return lines.filter { line in families.contains { line.hasPrefix($0) } }
    }

    private func report() -> [String] {
        counters.report().map { group in
            "\(group.name): " + group.counts.map { "\($0.name) \($0.count)" }.joined(separator: ", ")
        }
    }
}
