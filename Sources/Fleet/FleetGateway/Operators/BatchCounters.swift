import Fleet
import Observability

/// Counts what concerns batches of orders. The store's writer counts, any thread reads.
final class BatchCounters: Sendable {
    /// What a driver reported of an order at its end.
    private struct ReportedEnd: Hashable {
        let status: ReportedStatus
        let reason: FailureReason?
    }

    private let actions = LabelledCounter<FleetCounters.Action>(
        "batch_actions_total", "Actions on batches of orders, by action and outcome."
    ) { $0.labels }
    private let ends = LabelledCounter<ReportedEnd>("deliveries_total", "Orders of batches that were delivered or failed.") {
        [("status", $0.status.rawValue), ("reason", $0.reason?.rawValue ?? "")]
    }
    let lostRaces = Counter(
        "batch_accept_races_total", "Drivers who were too late for a batch that another driver had accepted.")

    func countAction(_ name: String, outcome: String) { actions.add(to: .init(name: name, outcome: outcome)) }

    /// Counts an order that was delivered or failed.
    func count(_ report: DeliveryReport) {
        let reason: FailureReason?
        switch report.outcome {
        case .enRoute, .arrived: return
        case .delivered: reason = nil
        case .failed(let failure): reason = failure
        }
        ends.add(to: ReportedEnd(status: report.status, reason: reason))
    }

    var families: [MetricFamily] { [actions.family, ends.family, lostRaces.family] }
}
