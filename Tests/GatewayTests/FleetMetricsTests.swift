import Observability
import Testing

@testable import Gateway

@Suite struct FleetMetricsTests {
    private let counters = FleetCounters()

    @Test func countsByNameAndOutcome() {
        for (name, outcome) in [("b", "done"), ("a", "done"), ("a", "conflict"), ("a", "done")] {
            counters.countAction(name, outcome: outcome)
        }
        counters.countNotifications(["job-assigned", "order-assigned", "job-assigned"])
        counters.countTelemetry(["received", "received"])
        counters.countFailedTransition()
        for status in [401, 400, 401] { counters.countFailedRequest(status) }
        #expect(
            samples() == [
                #"p_fleet_actions_total{action="a",outcome="conflict"} 1"#,
                #"p_fleet_actions_total{action="a",outcome="done"} 2"#,
                #"p_fleet_actions_total{action="b",outcome="done"} 1"#,
                #"p_notifications_total{event="job-assigned",state="created"} 2"#,
                #"p_notifications_total{event="order-assigned",state="created"} 1"#, #"p_telemetry_total{event="received"} 2"#,
                "p_failed_transitions_total 1", #"p_fleet_refused_total{status="400"} 1"#,
                #"p_fleet_refused_total{status="401"} 2"#,
            ])
        #expect(
            report() == [
                "actions: a conflict 1, a done 2, b done 1", "events: job-assigned 2, order-assigned 1", "telemetry: received 2",
                "refusals: 400 1, 401 2", "transitions: failed 1",
            ])
    }

    @Test func startsAtZero() {
        #expect(samples() == ["p_failed_transitions_total 0"])
        #expect(report() == ["actions: ", "events: ", "telemetry: ", "refusals: ", "transitions: failed 0"])
        counters.countNotifications([])
        counters.countTelemetry([])
        #expect(samples() == ["p_failed_transitions_total 0"])
    }

    @Test func countsFromSeveralThreads() async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { for _ in 0..<500 { self.counters.countAction("a", outcome: "done") } } }
        }
        #expect(samples().first == #"p_fleet_actions_total{action="a",outcome="done"} 4000"#)
    }

    private func samples() -> [String] {
        MetricFamily.text(counters.families(prefix: "p")).split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") }
    }

    private func report() -> [String] {
        counters.report().map { group in
            "\(group.name): " + group.counts.map { "\($0.name) \($0.count)" }.joined(separator: ", ")
        }
    }
}
