import Observability
import Webhooks

// The worker's counters and reports as metrics and log records.

extension WebhookWorker {
    /// Logs the worker's reports.
    convenience init(endpoints: [WebhookEndpoint], debounces: Bool, log: Observability.Log) {
        self.init(endpoints: endpoints, debounces: debounces, Environment { log.report($0) })
    }

    func families(prefix: String) -> [MetricFamily] {
        let statistics = statistics
        let counts = statistics.counts
        let outcomes = [
            ("delivered", counts.delivered), ("retried", counts.retried), ("dropped", counts.dropped),
            ("refused", counts.refused),
        ]
        return [
            MetricFamily(
                "\(prefix)_webhook_total", .counter, help: "Webhook events, by outcome.",
                samples: outcomes.map { ([("outcome", $0)], String($1)) }),
            MetricFamily(
                "\(prefix)_webhook_queue_depth", .gauge, help: "Queued webhook events.",
                value: statistics.depth),
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
