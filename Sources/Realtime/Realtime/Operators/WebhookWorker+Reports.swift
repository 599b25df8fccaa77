import Observability
import Webhooks

// The worker's counters and reports as metrics and log records.

extension WebhookWorker {
    /// Logs the worker's reports.
    convenience init(endpoints: [WebhookEndpoint], debounces: Bool, log: Observability.Log) {
        self.init(endpoints: endpoints, debounces: debounces, Environment { log.report($0) })
    }

    var families: [MetricFamily] {
        let statistics = statistics
        let counts = statistics.counts
        return [
            MetricFamily(
                "webhook_total", .counter, "Webhook events, by outcome.", by: "outcome",
                [
                    ("delivered", counts.delivered), ("retried", counts.retried), ("dropped", counts.dropped),
                    ("refused", counts.refused),
                ]),
            MetricFamily("webhook_queue_depth", .gauge, "Queued webhook events.", statistics.depth),
        ]
    }
}

extension Log {
    fileprivate func report(_ report: WebhookReport) {
        switch report {
        case .failing(let endpoint, let reason):
            warning("webhook_failing", ["endpoint": .text(endpoint), "reason": .text(reason)])
        case .recovered(let endpoint): info("webhook_recovered", ["endpoint": .text(endpoint)])
        case .dropped(let endpoint, let events, let reason):
            self.error(
                "webhook_dropped", ["endpoint": .text(endpoint), "events": .number(events), "reason": .text(reason)])
        case .full(let endpoint): warning("webhook_queue_full", ["endpoint": .text(endpoint)])
        case .hasRoom(let endpoint, let refused):
            info("webhook_queue_has_room", ["endpoint": .text(endpoint), "refused": .number(refused)])
        case .overrun(let refused):
            warning("webhook_notices_refused", ["refused": .number(refused), "reason": "the webhook worker is too slow"])
        }
    }
}
